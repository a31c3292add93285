"""Process groups: known objects, of which rank and size never change, and questions about them."""

import weakref
from collections.abc import Callable, Hashable
from typing import Final, final

import torch.distributed as dist

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import AmbientValue, WeaklyIdentical
from framesmith.guards.sources import CallResult, Pinned
from framesmith.variables.core import Constant, TraceContext, Tracker, from_python
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import evaluate

ROWS: Final = Rows()
_ASKED: Final = Reason("the trace asked about a process group")
_FIXED: Final = ("rank", "size", "name")
_FIXED_PROPERTIES: Final = ("group_name", "group_desc")


@final
class ProcessGroupTracker(KnownValue["dist.ProcessGroup"]):
    """An existing process group. Invariant: guarded by identity, weakly: destroying the group has to free it."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A name, which is a constant, or a method that answers with one."""
        if name in _FIXED_PROPERTIES:
            return from_python(tx, getattr(self.value, name))
        if name in _FIXED:
            return FixedMethod(self, name)
        return self.unsupported(f"reading attribute {name!r}")

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Process groups hash by identity."""
        return ("object", self.value)


@final
class FixedMethod(Tracker):
    """A bound method of a process group whose answer never changes. It is only called."""

    source = None

    def __init__(self, group: ProcessGroupTracker, name: str) -> None:
        self.group = group
        self.name = name

    @property
    def python_type(self) -> type:
        """That of a bound method in C."""
        return type(getattr(self.group.value, self.name))

    def begin_call(self, tx: TraceContext, args: object, kwargs: object) -> Tracker:
        """The answer."""
        if args or kwargs:
            return self.unsupported("a call with arguments")
        return from_python(tx, getattr(self.group.value, self.name)())


def default_group(tx: TraceContext) -> Tracker:
    """The group of all processes, as `torch.distributed.group.WORLD` gives it: guarded to be this one."""
    source = CallResult(Pinned(dist.group, "group"), read_default_group)
    return tx.wrap(read_default_group(dist.group), source)


def read_default_group(groups: object) -> object:
    """The group of all processes; None before `init_process_group`."""
    found: object = getattr(groups, "WORLD")  # noqa: B009  # torch types it as an optional class attribute
    return found


def wrap_process_group(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing process group, guarded by identity."""
    assert isinstance(value, dist.ProcessGroup)
    if not isinstance(source, Pinned):
        tx.guard(source, WeaklyIdentical.capture(value))
    return ProcessGroupTracker(value, source)


def require_registered(tx: TraceContext, group: dist.ProcessGroup) -> bool:
    """Whether the group was not destroyed so far; guarded to stay so. A group that was destroyed may still be held."""
    reference = weakref.ref(group)
    found = is_registered(reference)
    tx.guards.add(Guard.relation(AmbientValue(is_registered, (reference,), found), _ASKED))
    return found


def is_registered(group: "weakref.ReferenceType[dist.ProcessGroup]") -> bool:
    """Whether torch knows the group: it was neither destroyed nor freed."""
    return group() in dist.distributed_c10d._world.pg_map


def _register_question(question: Callable[..., object]) -> None:
    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = [operand.realize().as_python_constant() for operand in args]
        keywords = {name: operand.realize().as_python_constant() for name, operand in kwargs.items()}
        # `AmbientValue` calls with values alone.
        asked, values = _Question(question, tuple(keywords)), (*operands, *keywords.values())
        groups = [one for one in values if isinstance(one, dist.ProcessGroup)]
        for group in groups:
            require_registered(tx, group)
        with tx.graph.pause_recording():
            found = evaluate(question.__name__, asked, *values)
        # A group that is given is guarded by identity, and its answers never change.
        if not groups:
            # of the group of all processes, which may be another one at the next call
            tx.guards.add(Guard.relation(AmbientValue(asked, values, found), _ASKED))
        return Constant(found) if found is None else from_python(tx, found)

    ROWS.call(question)(answer)


@final
class _Question:
    """A question with the names of its last arguments, called with values alone."""

    __slots__ = ("__name__", "_names", "_question")

    def __init__(self, question: Callable[..., object], names: tuple[str, ...]) -> None:
        self._question = question
        self._names = names
        self.__name__: str = question.__name__

    def __call__(self, *values: object) -> object:
        first = len(values) - len(self._names)
        return self._question(*values[:first], **dict(zip(self._names, values[first:], strict=True)))


if dist.is_available():
    ROWS.wrap(dist.ProcessGroup)(wrap_process_group)
    ROWS.constant_types(dist.ReduceOp.RedOpType)
    for _question in (
        dist.get_rank,
        dist.get_world_size,
        dist.get_backend,
        dist.get_process_group_ranks,
        dist.get_group_rank,
        dist.get_global_rank,
        dist.get_node_local_rank,
        dist.is_torchelastic_launched,
    ):
        _register_question(_question)
