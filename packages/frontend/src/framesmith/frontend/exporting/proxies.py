"""The nodes of the exported graph in place of tensors: proxies on which an entry's own lines run.

An entry only moves values and computes numbers from sizes. What would need the number itself (a text, a branch) is
refused. How the whole module is built: `exporting.outer_graph`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, cast, final

import torch
from torch import fx
from torch.fx.proxy import GraphAppendingTracer

from framesmith.frontend.errors import ExportError
from framesmith.guards import Scope, Source
from framesmith.guards.scope import Readable
from framesmith.guards.sources.computed import Computed
from framesmith.guards.sources.steps import InstanceItem
from framesmith.guards.sources.tensors import TensorSize, TensorStorageOffset, TensorStride, Unasked

_OPERATORS: Final = {
    TensorSize: torch.ops.aten.sym_size.int,
    TensorStride: torch.ops.aten.sym_stride.int,
    TensorStorageOffset: torch.ops.aten.sym_storage_offset.default,
}


class NodeProxy(fx.Proxy):
    """A node as a value. A size of which the number is needed has no node: such a program cannot be exported."""

    def _refuse(self, *_: object) -> NoReturn:
        raise ExportError(
            f"the result needs the number {self.node}, which may differ from call to call, as a text or an index; "
            "declare that size as fixed, or leave the text out of what is exported"
        )

    __str__ = __format__ = __int__ = __float__ = __index__ = _refuse


@final
class NodeTracer(GraphAppendingTracer):
    """Makes proxies of the class above."""

    def proxy(self, node: fx.Node) -> fx.Proxy:
        """The proxy of a node."""
        return NodeProxy(node, self)


@final
class NodeScope:
    """Values by source, with nodes for tensors. `attribute(source, tensor)` gives the node of a tensor that is no argument."""

    def __init__(
        self, tracer: NodeTracer, scope: Scope, attribute: Callable[[Source, torch.Tensor], fx.Node]
    ) -> None:
        self.graph = tracer.graph
        self.tracer = tracer
        self._memo: dict[Readable, object] = {}
        self._scope = Scope(scope.locals, scope.globals, self._memo, scope.own)
        self._attribute = attribute

    def value_of(self, source: Source) -> object:
        """The value of a source: a proxy for a tensor and for what is computed from one."""
        if source in self._memo:
            return self._memo[source]
        # so that a computed number finds proxies, not numbers, in the memo
        for leaf in source.leaves():
            if leaf is not source:
                self.value_of(leaf)
        found = self._read(source)
        if isinstance(found, torch.Tensor):
            found = NodeProxy(self._attribute(source, found), self.tracer)
        self._memo[source] = found
        return found

    def _read(self, source: Source) -> object:
        operator = _OPERATORS.get(type(source))
        if operator is not None and isinstance(source, TensorSize | TensorStride | TensorStorageOffset):
            base = self.value_of(source.base)
            if isinstance(base, fx.Proxy):
                dims = () if isinstance(source, TensorStorageOffset) else (source.dim,)
                return self.tracer.create_proxy("call_function", operator, (base, *dims), {})
        # also of one that wraps other tensors: its class reads all that it holds
        if isinstance(source, InstanceItem) and isinstance(self.value_of(source.base), fx.Proxy):
            raise ExportError(
                f"the program depends on {source.text()}, which the tensor {source.base.text()} holds; an exported graph takes tensors "
                "without attributes: pass it as an argument of its own"
            )
        if isinstance(source, Unasked) and isinstance(of_tensor := self.value_of(source.base), fx.Proxy):
            return of_tensor
        if isinstance(source, Computed):
            operands = [self.value_of(one) if isinstance(one, Source) else one for one in source.operands]
            # of an int that may differ; of numbers of the example it is a number
            if any(isinstance(one, fx.Proxy) for one in operands):
                return self.tracer.create_proxy("call_function", source.function, tuple(operands), {})
        return self._scope.value_of(source)


def node_of(value: object) -> Any:  # what fx takes as an argument of a node
    """The node behind a proxy; anything else as it is."""
    return value.node if isinstance(value, fx.Proxy) else value


def inline_graph(
    scope: NodeScope, inner: fx.Graph, values: tuple[object, ...], renamed: Mapping[str, str]
) -> object:
    """Copy a graph into the one of `scope`, with these values as its inputs; its outputs as proxies.

    `renamed`: the attributes that the inner graph refers to, under the names that they have in the outer one.
    """
    graph = scope.graph
    placeholders = list(inner.find_nodes(op="placeholder"))
    known = dict(zip(placeholders, map(node_of, values), strict=True))
    for node, value in zip(placeholders, values, strict=True):
        outer = node_of(value)
        if isinstance(outer, fx.Node):
            outer.meta.update({key: each for key, each in node.meta.items() if key not in outer.meta})
    for node in inner.nodes:
        if node.op == "output":
            return tuple(
                NodeProxy(known[each], scope.tracer) if isinstance(each, fx.Node) else each
                for each in cast("tuple[object, ...]", node.args[0])
            )
        if node.op != "placeholder":
            known[node] = copied = graph.node_copy(node, lambda each: known[each])
            if copied.op in {"get_attr", "call_module"}:
                copied.target = renamed[str(copied.target)]
    raise AssertionError("a recorded graph has an output")
