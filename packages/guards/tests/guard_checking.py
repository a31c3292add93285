"""What the tests of this folder share: run a generated condition and compare it with the slow check."""

from collections.abc import Callable, Mapping, Sequence

from framesmith.guards import (
    MISSES,
    Failure,
    Guard,
    GuardSet,
    Program,
    Reason,
    Scope,
    Source,
    compile_guards,
    first_failure,
)
from framesmith.guards.family_checks import FamilyCheck
from framesmith.guards.kinds import Claim, Relation
from framesmith.guards.verify import verify_program

REASON = Reason("a test asked for it", "user.py:7 in f")


def guards(*items: tuple[Source, Claim] | Relation) -> GuardSet:
    """A set of these claims and relations."""
    return GuardSet(
        Guard.relation(item, REASON) if isinstance(item, Relation) else Guard(item[0], item[1], REASON)
        for item in items
    )


def with_function(value: object) -> object:
    """The function of a family check, anything else as it is."""
    if not isinstance(value, FamilyCheck):
        return value
    body = "".join(f"    {line}\n" for line in value.lines)
    namespace = dict(value.constants)
    exec(f"def check({value.parameters}):\n{body}", namespace)
    return namespace["check"]


def built(
    program: Program, local_names: Sequence[str], module_globals: dict[str, object]
) -> Callable[..., object]:
    """A function of the local names: the preloaded values as a list, or None for a miss."""
    assert verify_program(program, local_names, module_globals) == []
    text = (
        f"def check({', '.join(local_names)}):\n"
        f"    try:\n"
        f"        if {program.condition}:\n"
        f"            return [{', '.join(program.loads)}]\n"
        f"    except __fs_misses:\n"
        f"        pass\n"
        f"    return None\n"
    )
    constants = {name: with_function(value) for name, value in program.constants.items()}
    module_globals.update(constants, __fs_misses=MISSES)
    exec(compile(text, "<generated>", "exec"), module_globals)
    check = module_globals["check"]
    assert callable(check)
    return check


def passes(
    guard_set: GuardSet, values: Mapping[str, object], module_globals: Mapping[str, object] | None = None
) -> bool:
    """Whether the guards hold; asserts that the slow and the generated check agree on it."""
    known = {"__builtins__": __builtins__, **(module_globals or {})}
    slow = first_failure(guard_set, Scope(values, known))
    check = built(compile_guards(guard_set), [*values], dict(known))
    fast = check(**values) is not None
    assert fast is (slow is None), (fast, slow)
    again = built(compile_guards(guard_set, dispatcher_locals=[*values]), [*values], dict(known))
    assert (again(**values) is not None) is fast
    return fast


def why(guard_set: GuardSet, values: Mapping[str, object]) -> str:
    """The text of the first failure."""
    return failure(guard_set, values).text


def failure(guard_set: GuardSet, values: Mapping[str, object]) -> Failure:
    """The first failure, which has to be there."""
    assert not passes(guard_set, values)
    found = first_failure(guard_set, Scope(values, {}))
    assert found is not None
    return found
