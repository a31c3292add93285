"""What `config.verify_code` does: every code object and every guard program that we emit is verified before it can run.

CPython trusts its code objects, and a wrong one is a crash. The checks themselves are those of `bytecode` and `guards`.
"""

import functools
from collections.abc import Collection
from types import CodeType

from framesmith.bytecode import Problem, verify
from framesmith.frontend.errors import UnsoundCode
from framesmith.frontend.options import config
from framesmith.guards import GuardSet, Program, verify_guards, verify_program


def verify_if_enabled(code: CodeType) -> CodeType:
    """The code itself. Raises UnsoundCode for one that is wrong, if `config.verify_code` asks for the check."""
    if config.verify_code:
        _check(f"code of {code.co_qualname}", [str(problem) for problem in _problems(code)])
    return code


@functools.lru_cache(maxsize=1024)
def _problems(code: CodeType) -> tuple[Problem, ...]:
    """What is wrong with a code object; the same is generated again and again, and equal ones have equal problems."""
    return tuple(verify(code))


def check_guards(guards: GuardSet, program: Program, names: Collection[str], function: str) -> None:
    """The same for the guards of an entry and the expression that they became."""
    if config.verify_code:
        _check(f"guards of {function}", verify_guards(guards) + verify_program(program, names))


def _check(what: str, problems: list[str]) -> None:
    if problems:
        raise UnsoundCode(what, problems)
