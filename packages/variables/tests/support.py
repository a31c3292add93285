"""A trace without a translator: real recorder, guards and wrapper; Python functions that are called run natively on
known values; what was traced is written as source, executed, and compared with eager.
"""

import copy
from collections.abc import Callable, Sequence
from types import BuiltinMethodType

from framesmith.graph import Recorder
from framesmith.guards import GuardSet, Scope, Source, first_failure
from framesmith.guards.sources import Local
from framesmith.variables import catalog
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import (
    Constant,
    Lazy,
    MutationLog,
    ObservedException,
    PendingCall,
    TraceContext,
    Tracker,
    from_python,
)
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.wrapping.wrap import Wrapper


class SimpleWriter:
    """The `Writer` protocol: collects statements, then runs them on real inputs."""

    def __init__(self) -> None:
        self.registry = catalog.registry()
        self.lines: list[str] = []
        self.constants: dict[str, object] = {}
        self.names: dict[int, str] = {}
        self.kept: list[Tracker] = []
        self.sources: dict[Source, str] = {}

    def load(self, source: Source) -> str:
        return self.sources.setdefault(source, f"source_{len(self.sources)}")

    def constant(self, value: object, hint: str) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = value
        return name

    def node(self, node: object) -> str:
        raise AssertionError("no graph here")

    def value(self, tracker: Tracker) -> str:
        if isinstance(tracker, Lazy):
            return self.load(tracker.source) if not tracker.is_realized else self.value(tracker.realize())
        if tracker.source is not None:
            return self.load(tracker.source)
        if isinstance(tracker, Constant):
            return tracker.reconstruct(self)
        if id(tracker) not in self.names:
            self.kept.append(tracker)
            text = tracker.reconstruct(self)
            if id(tracker) not in self.names:
                self.define(tracker, text, "value")
        return self.names[id(tracker)]

    def define(self, tracker: Tracker, expression: str, hint: str) -> str:
        name = f"{hint}_{len(self.names)}"
        self.names[id(tracker)] = name
        self.lines.append(f"{name} = {expression}")
        return name

    def statement(self, text: str) -> None:
        self.lines.append(text)

    def run(self, result: str, scope: Scope) -> object:
        names = dict(self.constants)
        for source, name in self.sources.items():
            names[name] = source.read(scope)
        exec("\n".join([*self.lines, f"result = {result}"]), names)
        return names["result"]


class Trace:
    """`with Trace(x=[1, 2]) as trace`: `trace["x"]` is the tracker of the input."""

    def __init__(self, **inputs: object) -> None:
        self.inputs = inputs
        self.recorder = Recorder()
        wrapper = Wrapper()
        self.tx = TraceContext(
            self.recorder,
            GuardSet(),
            MutationLog(),
            catalog.registry(),
            wrapper,
            self.run_natively,
        )
        wrapper.attach(self.tx)

    def run_natively(self, pending: PendingCall) -> Tracker:
        """The fake inliner: code of functions without closure, on known arguments."""
        function = pending.function.value
        names = pending.code.co_varnames[: pending.code.co_argcount]
        values = [pending.arguments[name].realize().as_python_constant() for name in names]
        try:
            return from_python(self.tx, function(*values))
        except Exception as error:
            if pending.otherwise is not None and isinstance(error, StopIteration):
                return pending.otherwise
            kind, args = from_python(self.tx, type(error)), [from_python(self.tx, a) for a in error.args]
            raise ObservedException(kind.call(self.tx, args, {}))

    def __enter__(self) -> "Trace":
        self.recorder.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.recorder.__exit__(*error)

    def __getitem__(self, name: str) -> Tracker:
        return self.tx.wrap(self.inputs[name], Local(name))

    def track(self, value: object) -> Tracker:
        if isinstance(value, Tracker):
            return value
        return (
            Builtin(value) if callable(value) and not isinstance(value, type) else from_python(self.tx, value)
        )

    def call(self, function: object, *args: object, **kwargs: object) -> Tracker:
        operands = [self.track(arg) for arg in args]
        keywords = {name: self.track(arg) for name, arg in kwargs.items()}
        return self.track(function).call(self.tx, operands, keywords).realize()

    def method(self, tracker: Tracker, name: str, *args: object, **kwargs: object) -> Tracker:
        return self.call(tracker.attribute(self.tx, name), *args, **kwargs)

    def finish(self, result: Tracker, **inputs: object) -> object:
        """Write and run what was traced: mutations of the inputs, then the result."""
        writer = SimpleWriter()
        text = writer.value(result)
        for tracker in self.tx.changes.changed_trackers():
            tracker.replay(writer)
        return writer.run(text, Scope({**self.inputs, **inputs}, globals()))

    def failure(self, **inputs: object) -> object:
        """The first guard that refuses these inputs, or None."""
        return first_failure(self.tx.guards, Scope({**self.inputs, **inputs}, globals()))


Step = Callable[[object], object]


def outcome(action: Callable[[], object]) -> object:
    """A value, or the type and text of the exception."""
    try:
        return ("value", action())
    except Exception as error:
        return ("error", type(error).__name__, str(error))


def observed(tx: TraceContext, error: ObservedException) -> tuple[str, str, str]:
    """The exception of the traced program as `outcome` shows it."""
    kind = error.exception.python_type
    args = error.exception.attribute(tx, "args").as_python_constant()
    return ("error", kind.__name__, str(kind(*args)))


def same_methods(value: object, steps: Sequence[tuple[str, tuple[object, ...]]], existing: bool) -> None:
    """Call methods one after the other, traced and for real; compare results, exceptions and the final state."""
    real, given = copy.deepcopy(value), copy.deepcopy(value)
    with Trace(x=given) as trace:
        tracker = trace["x"] if existing else from_python(trace.tx, copy.deepcopy(value))
        results: list[Tracker] = []
        wanted: list[object] = []
        for name, args in steps:
            expected = outcome(lambda: getattr(real, name)(*copy.deepcopy(args)))
            try:
                found = trace.method(tracker, name, *copy.deepcopy(args))
            except ObservedException as error:
                assert observed(trace.tx, error) == expected, (name, args, expected)
                continue
            assert expected[0] == "value", (name, args, expected)
            results.append(found)
            wanted.append(expected[1])
        everything = TupleTracker([tracker, *results])
        state, *found_values = trace.finish(everything)
        assert trace.failure(x=copy.deepcopy(value)) is None
    assert_same(state, real)
    if existing:
        assert state is given
    for found, expected in zip(found_values, wanted, strict=True):
        if found is state:
            assert expected is real
        elif not hasattr(expected, "__next__"):
            assert_same(found, expected)


def assert_same(found: object, expected: object) -> None:
    """Equal, of the same types all the way down, in the same order."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, set | frozenset):  # the order of a set that was built again is nobody's business
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
    elif isinstance(expected, BuiltinMethodType):  # its text has an address
        assert isinstance(found, BuiltinMethodType)
        assert_same((found.__name__, found.__self__), (expected.__name__, expected.__self__))
    else:
        assert repr(found) == repr(expected), (found, expected)
