"""The exported module: the user's arguments as inputs, parameters by name, and the user's result as it was built.

def forward(self, x, k):                                    placeholders: the leaves of (args, kwargs)
    sin = x.sin()                                           the recorded graph, inlined
    return pytree.tree_unflatten([sin, 3], self._out_spec)  what the entry returned, run over nodes
"""

import enum
import gc
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import CellType, FunctionType, ModuleType
from typing import Any, Final, final

import torch
from torch import fx
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from torch.fx.graph_module import _assign_attr
from torch.utils import _pytree as pytree

from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.cache.trace_start import FunctionStart, make_scope
from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.conditions import add_checks, assert_in_graph
from framesmith.frontend.exporting.dynamic_shapes import ExportPolicy
from framesmith.frontend.exporting.example import ExampleCall
from framesmith.frontend.exporting.input_check import InputCheck
from framesmith.frontend.exporting.named_sizes import SizeRelation
from framesmith.frontend.exporting.proxies import NodeProxy, NodeScope, NodeTracer, inline_graph, node_of
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.graph.running.failures import GraphFailed
from framesmith.guards import Guard, Source
from framesmith.guards.kinds.base import describe_value
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.kinds.tensor_spec import TensorSpec
from framesmith.guards.sources import Local, NewObject

_UNFIT: Final = re.compile(r"[^\w.]|\.(?=\.|$)", re.ASCII)
_KEEPING: Final = frozenset({FunctionType, CellType, tuple, list, dict, set, frozenset})
_CONSTANTS: Final = (enum.Enum, type, FunctionType, ModuleType, *fx.node.base_types)


@final
class OuterGraph:
    """Builds the exported module of one entry."""

    def __init__(
        self, start: FunctionStart, example: ExampleCall, built: BuiltEntry, policy: ExportPolicy
    ) -> None:
        self._start, self._example, self._built = start, example, built
        self._policy = policy
        self._graph = fx.Graph()
        self._tracer = NodeTracer(self._graph)
        self._attributes: dict[str, object] = {}
        self._names: dict[int, str] = {}  # of attributes, by the id of the object
        inputs = [self._input(index, leaf) for index, leaf in enumerate(example.leaves)]
        self._of_leaves = {id(leaf): proxy for leaf, proxy in inputs if isinstance(leaf, torch.Tensor)}
        parameters = Signature.of_function(start.code).names
        values = example.bind([leaf if proxy is None else proxy for leaf, proxy in inputs])
        given = make_scope(start, parameters, values)
        self._given = example.given()
        self._scope = NodeScope(self._tracer, given, self._attribute)

    def _input(self, index: int, leaf: object) -> tuple[object, NodeProxy | None]:
        """A placeholder for each leaf; only tensors and ints that may differ are represented by it, other leaves are constants of the program."""
        node = self._graph.placeholder(self._example.names[index])
        # the text of the graph unpacks the arguments into targets: two that differ in `X` and `x` need two
        node.target = node.name
        if not isinstance(leaf, torch.Tensor) and index not in self._policy.numbers:
            node.meta["val"] = leaf
            return leaf, None
        return leaf, NodeProxy(node, self._tracer)

    def _attribute(self, source: Source, tensor: torch.Tensor) -> fx.Node:
        """The node of a tensor that the program holds itself."""
        root = [source, *source.ancestors()][-1]
        if isinstance(root, NewObject):
            raise ExportError(
                "the program makes a parameter, which an exported graph cannot hold; make it in __init__"
            )
        if self._is_given(root):
            raise ExportError(
                f"the program reads the tensor {source.text()} out of an argument that is no container of tensors; "
                "pass the tensor itself, or register the class with torch.utils._pytree or torch.export.register_dataclass"
            )
        name = self._example.target.tensors.get(id(tensor)) or source.text()
        return self._get_attribute(name, tensor)

    def _get_attribute(self, wanted: str, value: object) -> fx.Node:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self._free_name(wanted)
            self._attributes[name] = value
        return self._graph.create_node("get_attr", name)

    def _free_name(self, wanted: str) -> str:
        parts = [
            part if part.isidentifier() or part.isdigit() else f"_{part}"
            for part in _UNFIT.sub("_", wanted).split(".")
        ]
        base = name = ".".join(parts)
        number = 0
        while any(_overlaps(name, known) for known in self._attributes):
            number += 1
            name = f"{base}_{number}"
        return name

    def build(self, relations: Sequence[SizeRelation], rename: Callable[[str], str]) -> fx.GraphModule:
        """The module. `rename`: a text in the user's names. Raises ExportError for a result that a graph cannot return."""
        add_checks(self._scope, self._built.text.guards, rename)
        for relation in relations:
            self._add_relation(relation)
        leaves, out_spec = pytree.tree_flatten(self._run())
        self._graph.output([self._output(leaf) for leaf in leaves])
        info = _PyTreeInfo(list(self._example.parameters), self._example.spec, out_spec)
        self._graph.set_codegen(_PyTreeCodeGen(info))
        module = fx.GraphModule(self._attributes, self._graph)
        self._graph.lint()
        # fx registers all buffers as persistent
        saved = self._example.target.saved
        keep_persistence(module, saved.keys())
        complete_state(module, saved)
        module.register_forward_pre_hook(self._make_check(), with_kwargs=True)
        return module

    def _add_relation(self, relation: SizeRelation) -> None:
        """Check in the graph what was declared of two sizes."""
        first, size = (
            self._tracer.create_proxy(
                "call_function", torch.ops.aten.sym_size.int, (self._of_leaves[id(one.tensor)], one.dim), {}
            )
            for one in (relation.first, relation.size)
        )
        assert_in_graph(
            self._graph, relation.condition(first, size), f"{relation.text()}: these sizes are not"
        )

    def _make_check(self) -> InputCheck:
        """The check of arguments: metadata of tensors at leaves, and guards on everything else that was given."""
        places = {node.name: index for index, node in enumerate(self._graph.find_nodes(op="placeholder"))}
        specs: dict[int, TensorSpec] = {}
        others: list[Guard] = []
        for guard in self._built.text.guards:
            roots = {[source, *source.ancestors()][-1] for source in guard.sources}
            # guards on what the program holds are checked by `Exported.__call__`, not by the module (ADR 0024)
            if not roots or not all(self._is_given(root) for root in roots):
                continue
            found = [self._scope.value_of(source) for source in guard.sources]
            # what is computed from sizes is checked in the graph (`conditions`)
            if not any(isinstance(value, fx.Proxy) for value in found):
                others.append(guard)
            elif isinstance(guard.claim, TensorIs) and isinstance(found[0], fx.Proxy):
                index = places.get(found[0].node.name)
                if index is not None:
                    specs[index] = guard.claim.spec
        return InputCheck(
            self._example, Signature.of_function(self._start.code).names, specs, others, self._policy
        )

    def _is_given(self, root: Source) -> bool:
        return isinstance(root, Local) and root.name in self._given

    def _run(self) -> object:
        """What the entry returns, run over nodes."""
        text, graph = self._built.text, self._built.graph
        call = None if graph is None else graph.call
        # A graph returns plain tuples of sizes, as `torch.export` does; `torch.Size` takes no nodes.
        changed = {id(torch.Size): tuple, **({} if call is None else {id(call): self._inline})}
        constants = {name: changed.get(id(value), value) for name, value in text.constants.items()}
        function = replace(text, constants=constants).compile().function.bind(text.namespace, self._start.own)
        try:
            return function(*[self._scope.value_of(source) for source in text.loads])
        # the entry takes whatever its graph raises for a failed operation, also a refusal of ours
        except GraphFailed as failure:
            raise failure.error from None

    def _inline(self, *values: object) -> object:
        """What the entry calls in place of the compiled graph."""
        graph = self._built.graph
        assert graph is not None and graph.graph_module is not None
        module = graph.graph_module
        targets = {str(node.target) for node in module.graph.nodes if node.op in {"get_attr", "call_module"}}
        renamed: dict[str, str] = {}
        # sorted, since the names that are given depend on the order
        for target in sorted(targets):
            value = _attribute_of(module, target)
            # a load may have given the same object a name already
            renamed[target] = self._names.setdefault(id(value), "") or self._free_name(target)
            self._names[id(value)] = renamed[target]
            self._attributes[renamed[target]] = value
        return inline_graph(self._scope, module.graph, values, renamed)

    def _output(self, leaf: object) -> Any:
        if leaf is None or isinstance(leaf, (fx.Proxy, *fx.node.base_types)):
            return node_of(leaf)
        if isinstance(leaf, torch.Tensor):
            return self._get_attribute(self._example.target.tensors.get(id(leaf)) or "constant", leaf)
        if isinstance(leaf, _CONSTANTS) and not _holds_node(leaf):
            return self._get_attribute("constant", leaf)
        raise ExportError(
            f"the result holds {describe_value(leaf)}, which a graph cannot return; return tensors, numbers and "
            "texts in tuples, lists and dicts, or register the class with torch.utils._pytree or torch.export.register_dataclass"
        )


def keep_persistence(module: torch.nn.Module, persistent: Collection[str]) -> None:
    """Make only those buffers part of the `state_dict` that are part of the program's own."""
    for prefix, part in module.named_modules():
        for name in part._buffers:
            if (f"{prefix}.{name}" if prefix else name) not in persistent:
                part._non_persistent_buffers_set.add(name)


def complete_state(module: torch.nn.Module, saved: Mapping[str, torch.Tensor]) -> None:
    """Add what the program's `state_dict` has besides: other names of shared tensors, and what the graph does not use."""
    there = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    there.update(name for name, _ in module.named_buffers(remove_duplicate=False))
    for name, tensor in saved.items():
        if not any(_overlaps(name, known) for known in there):
            _assign_attr(tensor, module, name)


def _holds_node(value: object) -> bool:
    """Whether a function keeps a value of the graph in a cell, a default or an attribute."""
    waiting, seen = [value], set[int]()
    while waiting:
        held = waiting.pop()
        if isinstance(held, fx.Proxy):
            return True
        if id(held) in seen or type(held) not in _KEEPING:
            continue
        seen.add(id(held))
        if isinstance(held, FunctionType):
            waiting += [held.__closure__, held.__defaults__, held.__kwdefaults__, held.__dict__]
        else:
            waiting += gc.get_referents(held)
    return False


def _overlaps(name: str, other: str) -> bool:
    """Whether two dotted names cannot both be attributes: they are equal, or one is on the way to the other."""
    return name == other or name.startswith(f"{other}.") or other.startswith(f"{name}.")


def _attribute_of(module: torch.nn.Module, target: str) -> object:
    found: object = module
    for name in target.split("."):
        found = getattr(found, name)
    return found
