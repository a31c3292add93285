"""A trace without a translator: the tests call slots and rows by hand, finish the graph and run it on real tensors."""

import importlib
from collections.abc import Callable

import torch

from framesmith.graph import DynamicDims, GraphOptions, Recorder
from framesmith.guards import GuardSet, Scope, first_failure
from framesmith.guards.sources import Local, Pinned
from framesmith.variables import catalog
from framesmith.variables.core import Constant, MutationLog, TraceContext, Tracker, from_python
from framesmith.variables.graph_nodes.graph_values import GraphValue
from framesmith.variables.wrapping.wrap import Wrapper

importlib.import_module("framesmith.variables.catalog")


def no_inliner(pending: object) -> Tracker:
    """Python functions are the translator's business."""
    raise AssertionError(f"nothing is inlined here: {pending}")


class AllDynamic:
    """Every size and number is symbolic."""

    def dynamic_dims(self, source: object, tensor: torch.Tensor) -> DynamicDims:
        return DynamicDims.all()

    def is_dynamic_number(self, source: object) -> bool:
        return True

    def is_unspecialized(self, source: object) -> bool:
        return False


class Trace:
    """`with Trace(x=..., n=...) as trace`: `trace.x` is the tracker of the input."""

    def __init__(self, options: GraphOptions | None = None, dynamic: bool = False, **inputs: object) -> None:
        self.inputs = inputs
        self.recorder = Recorder(options)
        wrapper = Wrapper(AllDynamic() if dynamic else None)
        self.tx = TraceContext(
            self.recorder, GuardSet(), MutationLog(), catalog.registry(), wrapper, no_inliner
        )
        wrapper.attach(self.tx)

    def __enter__(self) -> "Trace":
        self.recorder.__enter__()
        for name, value in self.inputs.items():
            setattr(self, name, self.tx.wrap(value, Local(name)))
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wrap(self, value: object) -> Tracker:
        """A tracker of any object held as a constant."""
        return self.tx.wrap(value, Pinned(value, getattr(value, "__name__", "constant")))

    def call(self, function: Callable[..., object], *args: object, **kwargs: object) -> Tracker:
        """Call a real function on trackers; plain values become constants."""
        operands = [arg if isinstance(arg, Tracker) else from_python(self.tx, arg) for arg in args]
        keywords = {k: v if isinstance(v, Tracker) else from_python(self.tx, v) for k, v in kwargs.items()}
        return self.wrap(function).call(self.tx, operands, keywords).realize()

    def method(self, tracker: Tracker, name: str, *args: object, **kwargs: object) -> Tracker:
        """Call a method."""
        operands = [arg if isinstance(arg, Tracker) else from_python(self.tx, arg) for arg in args]
        keywords = {k: v if isinstance(v, Tracker) else from_python(self.tx, v) for k, v in kwargs.items()}
        return tracker.attribute(self.tx, name).call(self.tx, operands, keywords).realize()

    def run(self, *results: Tracker, **inputs: object) -> list[object]:
        """Finish the graph and run it; constants as they are. `inputs` replace those of the trace."""
        nodes = [result.output_node() for result in results if isinstance(result, GraphValue)]
        for result in results:
            assert isinstance(result, GraphValue | Constant), result
        compiled = self.recorder.finish(nodes)
        self.close()
        scope = Scope({**self.inputs, **inputs}, globals())
        values = [source.read(scope) for source in compiled.inputs]
        outputs = compiled.call(*values) if compiled.call is not None else values
        found = [outputs[position] for position in compiled.positions]
        return [found.pop(0) if isinstance(r, GraphValue) else r.as_python_constant() for r in results]

    def accepts(self, **inputs: object) -> bool:
        """Whether the guards let these inputs in. Make the inputs before or after the trace, not on fakes."""
        self.close()
        return first_failure(self.tx.guards, Scope({**self.inputs, **inputs}, globals())) is None

    def close(self) -> None:
        """No fakes from here on."""
        self.tx.changes.ambient.restore()
        self.recorder.__exit__(None, None, None)

    @property
    def nodes(self) -> list[str]:
        """The operations recorded so far."""
        return [str(node.target) for node in self.recorder.graph.nodes if node.op.startswith("call_")]


def same(actual: object, expected: object) -> bool:
    """Equal values; tensors by content, type and dtype."""
    if isinstance(expected, torch.Tensor):
        return (
            isinstance(actual, torch.Tensor)
            and actual.dtype == expected.dtype
            and torch.equal(actual, expected)
        )
    return type(actual) is type(expected) and actual == expected
