"""Inputs that keep their memory from call to call: parameters and buffers of modules, and tensors that the program has marked so.

Inductor has to know them where it records CUDA graphs (`mode="reduce-overhead"`): others it copies at each call, and it records no
graph that writes to one. AOTAutograd reads the marks off the nodes of a module that has these attributes.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import torch
import torch._guards
from torch import fx

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.torch_sources import NO_TRACE, TorchSource
from framesmith.graph.inputs.inputs import Input, with_memory
from framesmith.graph.nodes.arguments import example
from framesmith.graph.options import PLAIN_INTS, is_fixed
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.steps import InstanceItem

_MARK: Final = "_dynamo_static_input_type"
"""An attribute of tensors that `torch._dynamo.mark_static_address` sets, and the key of the mark of a node."""
_MAY_MOVE: Final = "unguarded"
"""The mark of an input for which CUDA graphs look at each call whether it has moved."""


def mark_lasting_inputs(module: fx.GraphModule, used: Sequence[Input]) -> None:
    """Tell AOTAutograd which of the placeholders of a module last. `used` are their inputs, in order."""
    module.meta["dynamo_compile_id"] = torch._guards.CompileContext.current_compile_id()
    names = (
        *(name for name, _ in module.named_parameters(remove_duplicate=False)),
        *(name for name, _ in module.named_buffers(remove_duplicate=False)),
    )
    sources = {name: TorchSource(NO_TRACE, f"the graph's {name}") for name in names}
    object.__setattr__(module, "_param_name_to_source", sources)
    places = _shared_places(used)
    for node, entry in zip(module.graph.find_nodes(op="placeholder"), used, strict=True):
        # By its name, which is made of that of the source: a source takes long to write out.
        vars(node)["_dynamo_source"] = TorchSource(NO_TRACE, node.name + places.get(entry.source, ""))
        if _lasts(entry) and _has_fixed_sizes(node):
            node.meta.setdefault("tensor_dict", {})[_MARK] = _MAY_MOVE


def copy_marks(
    module: fx.GraphModule, part: fx.GraphModule, inputs: Iterable[tuple[fx.Node, fx.Node]]
) -> None:
    """Give a part of a marked module its marks. `inputs` are its values in the module, with the placeholders in the part."""
    part.meta.update(module.meta)
    object.__setattr__(part, "_param_name_to_source", vars(module)["_param_name_to_source"])
    for node, placeholder in inputs:
        source = vars(node).get("_dynamo_source")
        vars(placeholder)["_dynamo_source"] = source or TorchSource(NO_TRACE, node.name)


def _shared_places(used: Sequence[Input]) -> dict[Source, str]:
    """Where the inputs that share memory with others lie in it. AOTAutograd looks a graph up in its files by what the inputs are,
    each alone, and by their sources: two graphs of one text differ where a written input overlaps others."""
    members: dict[int, list[tuple[Input, torch.Tensor]]] = {}
    with torch._C.DisableTorchFunction():  # no subclass is asked
        for entry in used:
            for part in with_memory(entry.value) if isinstance(entry.value, torch.Tensor) else ():
                members.setdefault(storage_of(part), []).append((entry, part))
        places: dict[Source, str] = {}
        for number, sharing in enumerate(members.values()):
            for entry, part in sharing if len(sharing) > 1 else ():
                place = (number, part.storage_offset() * part.itemsize, part.is_leaf, part._is_view())
                places[entry.source] = f"{places.get(entry.source, '')} in {place}"
    return places


def _lasts(entry: Input) -> bool:
    value = entry.value
    # most are, and `isinstance` asks the class of parameters, whose answer is Python code
    if type(value) is torch.nn.Parameter:
        return True
    if not isinstance(value, torch.Tensor):
        return False
    return isinstance(value, torch.nn.Parameter) or is_buffer(entry.source) or _MARK in value.__dict__


def _has_fixed_sizes(node: fx.Node) -> bool:
    """Whether all sizes are numbers. An input that lasts is kept for the backward pass where that asks for a size of it only; eager
    keeps none then, and another memory comes with another size."""
    value = example(node)
    return isinstance(value, torch.Tensor) and (
        PLAIN_INTS.issuperset(map(type, value.shape)) or all(map(is_fixed, value.shape))
    )


def is_buffer(source: Source) -> bool:
    """Whether this is where a module keeps a buffer."""
    return (
        isinstance(source, Item) and isinstance(source.base, InstanceItem) and source.base.name == "_buffers"
    )
