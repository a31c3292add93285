"""A captured graph as a Python file that runs: imports, the module, its attributes, inputs of the same sizes and types, a call.

Values are not kept: tensors are random numbers or zeros. What has no text (an object of the program) is None with a remark.
"""

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE


def write_runnable(module: fx.GraphModule) -> str:
    """The file's text.

    import torch
    class FramesmithGraph(torch.nn.Module): ...
    module = FramesmithGraph()
    inputs = [torch.rand((3, 4), dtype=torch.float32, device='cpu')]
    print(module(*inputs))
    """
    text = module.print_readable(print_output=False)
    found = re.search(r"^class (\w+)", text, re.MULTILINE)
    name = "GraphModule" if found is None else found[1]
    inputs = [
        f"    {write_value(node.meta.get(EXAMPLE))},  # {node.name}"
        for node in module.graph.find_nodes(op="placeholder")
    ]
    imports = ["import torch", "import torch.fx", *_imports(module, text)]
    call = [f"module = {name}()", *_attributes(module, "module"), "inputs = [", *inputs, "]"]
    return "\n".join(
        [*dict.fromkeys(imports), "", "", text.strip(), "", "", *call, "print(module(*inputs))", ""]
    )


def _graphs(module: fx.GraphModule) -> Iterator[fx.GraphModule]:
    return (one for one in module.modules() if isinstance(one, fx.GraphModule))


def _imports(module: fx.GraphModule, text: str) -> Iterator[str]:
    """A line for each global name that the graphs use."""
    for graph in _graphs(module):
        for name, value in graph.graph.python_code("self").globals.items():
            if name != "torch" and re.search(rf"(?<![\w.]){name}\b", text):
                yield _write_import(name, value)


def _write_import(name: str, value: object) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, float):
        return f"{name} = float({str(value)!r})"
    owner, known_as = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if isinstance(owner, str) and getattr(sys.modules.get(owner), known_as, None) is value:
        return f"from {owner} import {known_as}" + ("" if name == known_as else f" as {name}")
    return f"{name} = type(None)" if value is type(None) else f"{name} = None  # {value!r}"


def _attributes(module: fx.GraphModule, path: str) -> Iterator[str]:
    """A line for each attribute that the graph reads: a tensor, or a graph, whose class stands inside that of its owner."""
    read = dict.fromkeys(
        str(node.target) for node in module.graph.nodes if node.op in ("get_attr", "call_module")
    )
    for name in read:
        value: object = module
        for part in name.split("."):
            value = getattr(value, part)
        if isinstance(value, fx.GraphModule):
            yield f"{path}.{name} = type({path}).{name}()"
            # the class would be found before the instance
            yield f"del type({path}).{name}"
            yield from _attributes(value, f"{path}.{name}")
            # operators run it by its nodes; one that calls graphs itself cannot be traced, but most operators just call it
            if len(list(_graphs(value))) == 1:
                yield f"{path}.{name} = torch.fx.symbolic_trace({path}.{name})"
        else:
            yield f"{path}.{name} = {write_value(value)}"


def write_value(value: object) -> str:
    """An expression for a value of the same kind: a tensor of the same sizes, type, strides and device, or the same number."""
    if isinstance(value, torch.Tensor):
        return _write_tensor(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return repr(value.node.hint if value.node.has_hint() else 2)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    return f"None  # {type(value).__name__}"


def _write_tensor(value: torch.Tensor) -> str:
    sizes = ", ".join(write_value(size) for size in value.shape)
    sizes = f"({sizes},)" if value.dim() == 1 else f"({sizes})"
    kind = f"dtype={value.dtype}, device={str(value.device)!r}" + (
        ", requires_grad=True" if value.requires_grad else ""
    )
    if value.layout == torch.strided and not value.is_contiguous():
        strides = "".join(f"{write_value(stride)}, " for stride in value.stride())
        return f"torch.empty_strided({sizes}, ({strides.strip()}), {kind})"
    is_usual = value.dtype.itemsize > 1 and (value.is_floating_point() or value.is_complex())
    return f"torch.{'rand' if is_usual else 'zeros'}({sizes}, {kind})"
