"""What can be wrong with a guard set or a program, as a list of problems. Tests call it after every stage.

Facts that no guard covers are found by `facts`.
"""

import ast
import builtins
import keyword
from collections.abc import Collection, Iterator

from framesmith.guards.failure import first_failure
from framesmith.guards.family_checks import FamilyCheck
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.base import Claim
from framesmith.guards.kinds.identity import Identical
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.names import PREFIX
from framesmith.guards.program import Program
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import Local, Own, Pinned


def verify_guards(guard_set: GuardSet, scope: Scope | None = None) -> list[str]:
    """Problems of the set: locals whose name is no identifier, guards added before those on their base, and (with the
    scope the guards were captured in) the first guard that does not hold of what it was captured from."""
    problems = [problem for guard in guard_set for problem in _names(guard)]
    problems += _late_bases(guard_set)
    failure = None if scope is None else first_failure(guard_set, scope)
    if failure is not None:
        problems.append(
            f"does not hold of what it was captured from: {failure.text} (guard: {failure.guard.text()})"
        )
    return problems


def verify_program(
    program: Program, local_names: Collection[str], global_names: Collection[str] = ()
) -> list[str]:
    """Problems of the text: no expression, unknown names, temporaries read before they are bound, missing prefixes."""
    try:
        tree = ast.parse(program.condition, mode="eval")
    except SyntaxError as error:
        return [f"the condition is no expression: {error} in {program.condition[:200]}"]
    known = {*program.constants, *local_names, *global_names}
    problems = [
        f"the constant {name} has no prefix {PREFIX!r}" for name in program.constants if not _prefixed(name)
    ]
    bound: set[str] = set()
    for node in _in_evaluation_order(tree.body):
        if isinstance(node.ctx, ast.Store):
            bound.add(node.id)
            if not _prefixed(node.id):
                problems.append(f"the temporary {node.id} has no prefix {PREFIX!r}")
        elif node.id not in known and node.id not in bound:
            problems.append(_unknown(node.id, program))
    for load in program.loads:
        if load.partition("[")[0] not in known | bound:
            problems.append(f"the preloaded {load} is never bound")
    for value in program.constants.values():
        if type(value) is FamilyCheck:
            problems += _family_problems(value)
    return problems


def _family_problems(check: FamilyCheck) -> Iterator[str]:
    """Problems of the text of a family check: no function, unknown names."""
    text = f"def check({check.parameters}):\n" + "".join(f" {line}\n" for line in check.lines)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield f"the check of a family is no function: {error} in {text[:200]}"
        return
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    known = {*check.constants, check.parameters, *bound}
    for name in {node.id for node in names} - known:
        yield f"the check of a family reads {name}, which it does not have"
    for name in known:
        if not _prefixed(name):
            yield f"the name {name} in the check of a family has no prefix {PREFIX!r}"


def _unknown(name: str, program: Program) -> str:
    if name in program.temporaries:
        return f"the temporary {name} is read before it is bound"
    kind = "a builtin that may be hidden" if hasattr(builtins, name) else "no local, constant or global"
    return f"the name {name} is {kind}"


def _prefixed(name: str) -> bool:
    return name.startswith(PREFIX)


def _in_evaluation_order(node: ast.AST) -> Iterator[ast.Name]:
    """The names as CPython evaluates them; a walrus binds after its value."""
    if isinstance(node, ast.NamedExpr):
        yield from _in_evaluation_order(node.value)
        yield node.target
        return
    if isinstance(node, ast.Name):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_evaluation_order(child)


def _names(guard: Guard) -> Iterator[str]:
    for source in guard.sources:
        for part in (source, *source.ancestors()):
            if isinstance(part, Local) and (not part.name.isidentifier() or keyword.iskeyword(part.name)):
                yield f"{part.name!r} is no local name (guard: {guard.text()})"


def _late_bases(guard_set: GuardSet) -> list[str]:
    """Sources that are guarded before the base whose guards make reading them safe.

    A pinned base needs no guard, as it is always the same object, and neither does what a function has of its own; but a
    guard on its type must not come later, unless it is known to be one object by then.
    A claim that is lowered guards the sources of its parts: a class attribute is the item of a class dictionary.
    """
    first: dict[Source, int] = {}
    typed: dict[Source, int] = {}
    same: dict[Source, int] = {}
    for index, guard in enumerate(guard_set):
        for source in guard.sources:
            first.setdefault(source, index)
        if guard.source is not None and isinstance(guard.claim, TypeIs):
            typed.setdefault(guard.source, index)
        if guard.source is not None and isinstance(guard.claim, Claim):
            for part, claim in ((guard.source, guard.claim), *(guard.claim.lower(guard.source) or ())):
                first.setdefault(part, index)
                if isinstance(claim, Identical):
                    same.setdefault(part, index)
    problems = []
    for source, index in first.items():
        for base in source.ancestors():
            known = typed if isinstance(base, Own | Pinned) else first
            late_type = typed.get(base, index) if same.get(base, index + 1) > index else index
            if max(known.get(base, index), late_type) > index:
                problems.append(f"{source.text()} is guarded before {base.text()}, which it is read from")
    return problems
