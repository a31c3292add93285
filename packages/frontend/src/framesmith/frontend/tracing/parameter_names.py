"""The names of a continuation's parameters, and which of them carry variables of the user's.

`cache/user_names.py` knows the way back: from a message about parameters to the words of the user's program.
"""

from typing import Final

_NO_VARIABLES: Final = ("stack_", "cell_", "result_", "default_", "raised")
_OF_OUTERMOST: Final = "local_0_"


def is_variable(name: str) -> bool:
    """Whether a parameter of a continuation carries a variable of the user's; other names depend on the resume point."""
    return not name.startswith(_NO_VARIABLES)


def variable_of(name: str) -> str:
    """The variable of the outermost frame that a parameter carries."""
    return name.removeprefix(_OF_OUTERMOST)


def local_name(name: str, depth: int) -> str:
    """A parameter for a local variable; hidden ones (`.0`) get a name that Python accepts."""
    plain = name.isidentifier() and not name.startswith("hidden_")
    text = name if plain else f"hidden_{name.encode().hex()}"
    # a variable whose name begins like one of ours is renamed, so that it cannot be taken for ours
    keeps_its_name = depth == 0 and is_variable(text) and not text.startswith("local_")
    return text if keeps_its_name else f"local_{depth}_{text}"
