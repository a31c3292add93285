"""Graph breaks among the signposts: the page of a kind, where it is raised, and the kind that a call of torch ends in.

The rows of `Tensor.item` or `torch.nonzero` are those of the general rule, one node. What breaks the graph is the fake
tensor, which has no data: torch tags such operators. Breaks that a row raises itself are found in its code.
"""

import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Final

import torch

from framesmith.frontend.signposts.definitions import definitions, layers, path_in_package
from framesmith.frontend.signposts.tables import Signpost, break_constants
from framesmith.graph.breaks.break_kinds import DATA_DEPENDENT_OUTPUT, DATA_DEPENDENT_SHAPE, TENSOR_ITEM
from framesmith.graph.breaks.breaks import BreakKind, kind_of

_TAGGED: Final = (
    (torch.Tag.dynamic_output_shape, DATA_DEPENDENT_SHAPE),
    (torch.Tag.data_dependent_output, DATA_DEPENDENT_OUTPUT),
)
_ITEMS: Final = frozenset({"item", "tolist", "__int__", "__float__", "__index__", "__complex__"})
_MADE_OF_TAGGED: Final = frozenset({"unique", "argwhere"})
"""Functions that are no operators themselves, and call one whose output size depends on data."""


def kind_of_call(name: str) -> BreakKind | None:
    """The kind of break in which a call of this function of torch ends because it needs data: `torch.Tensor.item`."""
    owner, _, last = name.rpartition(".")
    if owner not in ("", "torch", "Tensor", "torch.Tensor"):
        return None
    if last in _ITEMS and owner.endswith("Tensor"):
        return TENSOR_ITEM
    if last in _MADE_OF_TAGGED:
        return DATA_DEPENDENT_SHAPE
    packet = getattr(torch.ops.aten, last, None)
    if packet is None:
        return None
    tags = {tag for overload in packet.overloads() for tag in getattr(packet, overload).tags}
    return next((kind for tag, kind in _TAGGED if tag in tags), None)


def kinds_in(code: Callable[..., object]) -> Iterator[BreakKind]:
    """The kinds of breaks that the code of a row names."""
    if isinstance(code, FunctionType):
        for name in code.__code__.co_names:
            found = code.__globals__.get(name)
            if isinstance(found, BreakKind):
                yield found


def posts_of_call(name: str, kind: BreakKind) -> Iterator[Signpost]:
    """What a call of torch that needs data leads to."""
    where = definitions()["infer.translate"][0]
    yield Signpost(name, f"breaks the graph as {kind.id}: a fake tensor has no data", *where)
    yield page_of(name, kind)


def page_of(name: str, kind: BreakKind) -> Signpost:
    """The page for users."""
    return Signpost(name, f"the graph break {kind.id}, for users", f"docs/breaks/{kind.id}.md", 1)


def posts_of_kind(identifier: str) -> Iterator[Signpost]:
    """The page of the kind with this id, and each line that names the kind: where it is raised."""
    constant, _, _ = break_constants()[identifier]
    yield page_of(identifier, kind_of(identifier))
    for file, line in _find_uses(constant):
        yield Signpost(identifier, "raised, or handed to what raises", file, line)


def _find_uses(constant: str) -> Iterator[tuple[str, int]]:
    """The lines that use the constant of a kind, without imports and the one that makes it."""
    used = re.compile(rf"\b{constant}\b")
    for layer in layers():
        for path in sorted(layer.rglob("*.py")):
            if path.name == "break_kinds.py" or path.parent.name == "signposts":
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                # imported, or made
                is_other = re.match(rf"\s*[A-Z_]+,$|(from|import) |{constant}\b.* = ", line)
                if used.search(line) and not is_other and not line.lstrip().startswith("#"):
                    yield path_in_package(str(path)), number
