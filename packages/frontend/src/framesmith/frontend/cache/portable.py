"""Whether an entry may outlive the function for which it was made: it refers to nothing that might die with that function.

Constants, code, and what an imported module holds under its name (classes, functions, the module itself) live anyway. An
entry that holds anything else, such as a class or a function that was made inside of a function, belongs to the functions
that use it and dies with the last of them. The entries themselves are kept in `cache.shared_entries`.
"""

from collections.abc import Iterable
from types import CodeType
from typing import Final, cast, final

import torch
from torch.nn.modules import module as module_code

from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.recovery import Recovery
from framesmith.guards import Family, Guard, GuardSet, Member
from framesmith.guards.comparison import Comparable
from framesmith.guards.imported import is_imported
from framesmith.guards.kinds import ClassAttribute, GlobalState, ShapeExpression
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.classes import ClassStructure
from framesmith.guards.sources import Pinned, Source
from framesmith.variables.objects.tracebacks import Passage

_PLAIN: Final = frozenset(
    map(id, (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), slice, range, CodeType,
             torch.dtype, torch.device, torch.layout, torch.memory_format))
)  # fmt: skip
"""The ids of types whose values are constants. Ids, since a lookup of a user's class would run the `__hash__` and
`__eq__` of its metaclass."""
_HOOKS: Final = frozenset(
    id(value) for name, value in vars(module_code).items() if name.startswith("_global_")
)
"""The ids of the tables of global hooks of modules, which live as long as torch."""
_CONTAINERS: Final = frozenset(map(id, (tuple, frozenset, list, set)))
_HARMLESS: Final = (ClassAttribute, ClassStructure, ShapeExpression)
"""Claims that hold only what lives as long as the class they speak of, or numbers and arithmetic on them."""


def is_portable(built: BuiltEntry, guards: GuardSet) -> bool:
    """Whether everything that the entry holds lives as long as the modules of the program."""
    module = None if built.graph is None else built.graph.graph_module
    if module is not None and module.graph.find_nodes(op="get_attr", sort=False):
        return False  # tensors, and graphs that may hold some
    check = _Check()
    held = [value for name, value in built.text.constants.items() if not _is_of_graph(built, value)]
    # the continuations run over the globals of their frames, which may be those of other modules
    targets = built.text.targets.values()
    return (
        check.is_known(built.text.namespace)
        and all(map(check.is_known, held))
        and all(map(check.is_known, [space for target in targets for space in target.namespaces]))
        and all(map(check.is_portable_source, built.text.loads))
        and all(map(check.is_portable_guard, guards.items))
    )


def _is_of_graph(built: BuiltEntry, value: object) -> bool:
    """Whether a constant is the graph's call, or what serves the case that it raises."""
    return type(value) is Recovery or (built.graph is not None and value is built.graph.call)


@final
class _Check:
    """Asks of sources, claims and objects whether they are portable, and remembers the answers for the length of one check."""

    def __init__(self) -> None:
        # by `id`, and kept, so that the id is not used for another object meanwhile
        self._known: dict[int, object] = {}
        self._families: set[Family] = set()

    def is_portable_guard(self, item: Guard | Member) -> bool:
        """Whether a guard, or all guards of a member of a family, refer to nothing that might die with the function."""
        if not isinstance(item, Member):
            return self.is_portable_claim(item.claim) and all(map(self.is_portable_source, item.sources))
        if item.family not in self._families and all(map(self.is_portable_guard, item.family.guards)):
            self._families.add(item.family)
        return item.family in self._families and self.is_portable_source(item.root)

    def is_portable_source(self, source: Source) -> bool:
        """Whether a source, with all from which it is read, refers to nothing that might die with the function."""
        # most sources have their bases in common: each base is examined once
        step: Source | None = source
        while step is not None and id(step) not in self._known:
            for name in ("value",) if isinstance(step, Pinned) else step.field_names:
                # the base is the next one
                value = None if name == "base" else getattr(step, name)
                # most are names, which need no further question
                if id(type(value)) not in _PLAIN and not self.is_known(value):
                    return False
            self._known[id(step)] = step
            step = step.base
        return True

    def is_portable_claim(self, claim: Claim | Relation) -> bool:
        """Whether a claim refers to nothing that might die with the function."""
        if isinstance(claim, GlobalState):
            # modes are objects of the user's, which the claim holds
            return not (claim.function_modes or claim.dispatch_modes)
        return isinstance(claim, _HARMLESS) or self.are_fields_known(claim)

    def are_fields_known(self, value: Comparable) -> bool:
        """Whether the fields of a source or claim are known."""
        return all(map(self.is_known, [getattr(value, name) for name in value.field_names]))

    def is_known(self, value: object) -> bool:
        """Whether an object lives as long as the program's modules do. It may be the user's: no code of its class runs."""
        cls = type(value)
        if id(cls) in _PLAIN or id(value) in self._known:
            return True
        # of the type: `isinstance` would read `value.__class__`, which may be code of the user
        if issubclass(cls, Source):
            assert isinstance(value, Source)
            return self.is_portable_source(value)
        # names and lines of the user's functions; tables of torch's own
        if cls is Passage or id(value) in _HOOKS:
            return True
        if issubclass(cls, Comparable):
            return self.are_fields_known(cast(Comparable, value))
        # exact types only: iterating over a subclass could run the user's `__iter__`
        is_container = id(cls) in _CONTAINERS
        found = (
            all(map(self.is_known, cast("Iterable[object]", value))) if is_container else is_imported(value)
        )
        if found:
            self._known[id(value)] = value
        return found
