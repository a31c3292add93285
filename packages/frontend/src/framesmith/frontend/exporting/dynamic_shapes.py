"""`dynamic_shapes` of `export`: which sizes of the example may differ, in the forms that `torch.export` takes.

{"x": {0: Dim("batch", min=2)}, "others": [None, (Dim.AUTO, 8)]}   or a tuple with one item for each argument The
symbols themselves are made in `graph.shape_env`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, cast, final

import torch
from torch.export import AdditionalInputs, Dim, ShapesCollection
from torch.utils._pytree import tree_leaves

from framesmith.frontend.dynamic_marks import DYNAMIC_MARK, STATIC_MARK, WEAK_DYNAMIC_MARK
from framesmith.frontend.errors import ExportError
from framesmith.graph.shapes.dynamic_dims import DynamicDims
from framesmith.guards import Failure, Scope, Source
from framesmith.guards.kinds.base import describe_value
from framesmith.guards.kinds.shapes import ShapeExpression

_MARKS: Final = (DYNAMIC_MARK, WEAK_DYNAMIC_MARK, STATIC_MARK)
_Hint: Final = type(Dim.AUTO)
_HINTS: Final = {"AUTO": WEAK_DYNAMIC_MARK, "DYNAMIC": DYNAMIC_MARK, "STATIC": STATIC_MARK}


@final
@dataclass(slots=True)
class DeclaredSizes:
    """What was declared for one tensor: dimensions by mark, inclusive bounds, and the named sizes (`torch.export.Dim`)."""

    path: str
    tensor: torch.Tensor
    marks: dict[str, set[int]] = field(default_factory=dict)
    bounds: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    named: dict[int, Dim] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExampleInt:
    """An int of the example, in its place: declarations and sources are told by it which one they mean. `index`: that of the leaf."""

    index: int
    value: int


@final
@dataclass(frozen=True, slots=True)
class Declarations:
    """All that was declared. `sizes`: by the `id` of the tensor; `numbers`: the ints that may differ, by the index of the leaf, and
    whether the program has to work for any (`Dim.DYNAMIC`)."""

    sizes: dict[int, DeclaredSizes] = field(default_factory=dict)
    numbers: dict[int, bool] = field(default_factory=dict)


@final
@dataclass(slots=True)
class ExportPolicy:
    """A `TracePolicy`: the sizes and ints that were declared or marked are symbolic, nothing else is.

    `places`: the arguments, with an `ExampleInt` for each int.
    """

    declared: Mapping[int, DeclaredSizes]
    promised: bool = False
    numbers: Mapping[int, bool] = field(default_factory=dict)
    places: Scope = field(default_factory=lambda: Scope({}, {}))

    def snapshot(self) -> "ExportPolicy":
        """Nothing is learnt, so this very policy."""
        return self

    def dynamic_dims(self, source: Source, tensor: torch.Tensor) -> DynamicDims:
        """The dimensions that were declared for this very tensor, or marked on it."""
        marks: dict[str, set[int]] = getattr(tensor, "__dict__", {})
        static = marks.get(STATIC_MARK, set())
        promised = marks.get(DYNAMIC_MARK, set()) - static
        self.promised |= bool(promised)
        found = self.declared.get(id(tensor))
        dims = DynamicDims.of(*sorted(promised | (marks.get(WEAK_DYNAMIC_MARK, set()) - static)))
        return dims if found is None else DynamicDims(dims=dims.dims, bounds=found.bounds)

    def is_dynamic_number(self, source: Source) -> bool:
        """Whether it is read from an int that was declared; any other number of the example is a constant of the exported graph."""
        found = self.find_int(source)
        return found is not None and found.index in self.numbers

    def find_int(self, source: Source) -> ExampleInt | None:
        """The int of the example that is read from a source; None for anything else."""
        if not self.numbers:
            return None
        try:
            found = source.read(self.places)
        # a source below something that is computed from an int
        except Exception:
            return None
        return found if isinstance(found, ExampleInt) else None

    @property
    def said_by(self) -> tuple[str, ...]:
        """What said that sizes differ: `dynamic_shapes`, or marks on tensors that it says nothing of."""
        marked = (
            id(value) not in self.declared and vars(value).get(DYNAMIC_MARK)
            for value in tree_leaves(self.places.locals)
            if isinstance(value, torch.Tensor)
        )
        is_declared = any(each.marks.get(DYNAMIC_MARK) for each in self.declared.values())
        is_marked = any(marked) or not is_declared
        return ("dynamic_shapes",) * is_declared + ("mark_dynamic",) * is_marked

    def dims_to_differ(self, tensor: torch.Tensor) -> frozenset[int]:
        """The dimensions of a tensor of the example that were declared or marked."""
        found = self.declared.get(id(tensor))
        sources = [getattr(tensor, "__dict__", {}), {} if found is None else found.marks]
        return frozenset(
            dim
            for marks in sources
            for name in (DYNAMIC_MARK, WEAK_DYNAMIC_MARK)
            for dim in marks.get(name, ())
        )

    def is_to_differ(self, failure: Failure) -> bool:
        """Whether a call does not fit in what was declared or marked: the program itself asks for this."""
        guard, change = failure.guard, failure.tensor_change
        if isinstance(guard.claim, ShapeExpression):
            return True
        if guard.source is None:
            return False
        if change is None:
            number = self.find_int(guard.source)
            return number is not None and number.index in self.numbers
        tensor = guard.source.read(self.places)
        if change.other or change.rank is not None or not isinstance(tensor, torch.Tensor):
            return False
        return self.dims_to_differ(tensor) >= {dim for dim, _, _ in change.sizes}

    def find_declared(self, source: Source) -> DeclaredSizes | None:
        """What was declared for the tensor that a source gives; None for anything else."""
        try:
            return self.declared.get(id(source.read(self.places)))
        # a source below something that is computed from an int
        except Exception:
            return None

    def is_unspecialized(self, source: Source) -> bool:
        """All values may be read."""
        return False

    def is_static_below(self, source: Source) -> bool:
        """Nothing is learnt."""
        return True


def read_declarations(
    dynamic_shapes: object, arguments: Mapping[str, object], whole: tuple[object, ...]
) -> Declarations:
    """What was declared. `arguments` are the example's by parameter name, with an `ExampleInt` for each int.

    Raises ExportError for a form that is not understood, an argument or dimension that does not exist, or an example
    whose size is out of bounds.
    """
    if isinstance(dynamic_shapes, ShapesCollection | AdditionalInputs):
        dynamic_shapes = cast(Callable[..., object], dynamic_shapes.dynamic_shapes)(*whole)
    if dynamic_shapes is None:
        return Declarations()
    if isinstance(dynamic_shapes, Mapping):
        unknown = [name for name in dynamic_shapes if name not in arguments]
        if unknown:
            raise ExportError(
                f"dynamic_shapes names {unknown[0]!r}, which is no argument; the arguments are {', '.join(arguments)}"
            )
        pairs = [(name, arguments[name], dynamic_shapes[name]) for name in dynamic_shapes]
    elif isinstance(dynamic_shapes, tuple | list):
        if len(dynamic_shapes) != len(arguments):
            raise ExportError(
                f"dynamic_shapes has {len(dynamic_shapes)} items for {len(arguments)} arguments ({', '.join(arguments)}); "
                "give one for each, None where nothing may differ"
            )
        pairs = [
            (name, value, shape)
            for (name, value), shape in zip(arguments.items(), dynamic_shapes, strict=True)
        ]
    else:
        raise ExportError(
            f"dynamic_shapes is {describe_value(dynamic_shapes)}; give a dict by argument name, or a tuple"
        )
    found = Declarations()
    for name, value, shape in pairs:
        _read(name, value, shape, found)
    return found


def _read(path: str, value: object, shape: object, found: Declarations) -> None:
    """Read what is declared for one value: a tensor, an int, or a container of these."""
    if shape is None:
        return
    if isinstance(value, ExampleInt):
        mark = _mark_of_number(path, value.value, shape)
        if mark is not STATIC_MARK:
            found.numbers[value.index] = mark is DYNAMIC_MARK
        return
    if isinstance(value, torch.Tensor):
        declared = found.sizes.setdefault(id(value), DeclaredSizes(path, value))
        for dim, size in _sizes(path, value, shape):
            _declare(path, declared, dim, size)
        return
    if isinstance(value, Mapping) and isinstance(shape, Mapping):
        for key in shape:
            if key not in value:
                raise ExportError(f"dynamic_shapes names {path}[{key!r}], which is not there")
            _read(f"{path}[{key!r}]", value[key], shape[key], found)
        return
    if isinstance(value, tuple | list) and isinstance(shape, tuple | list) and len(value) == len(shape):
        for index, (item, of_item) in enumerate(zip(value, shape, strict=True)):
            _read(f"{path}[{index}]", item, of_item, found)
        return
    raise ExportError(
        f"dynamic_shapes gives {describe_value(shape)} for {path}, which is {describe_value(value)}; "
        "give the dimensions of a tensor, a container of the same form, or None"
    )


def _mark_of_number(path: str, value: int, shape: object) -> str:
    """What a declaration says of an int: by a hint, as for `torch.export`."""
    if type(shape) is int and shape == value:
        return STATIC_MARK
    if not isinstance(shape, _Hint) or shape.min is not None or shape.max is not None:
        raise ExportError(
            f"dynamic_shapes gives {describe_value(shape)} for {path}, which is the int {value}; "
            "give Dim.AUTO, Dim.DYNAMIC or Dim.STATIC without bounds, or None"
        )
    return _HINTS[shape.type.name]


def _sizes(path: str, tensor: torch.Tensor, shape: object) -> Iterator[tuple[int, object]]:
    """Each dimension that is mentioned, counted from 0."""
    if isinstance(shape, Mapping):
        pairs = list(shape.items())
    elif isinstance(shape, tuple | list):
        if len(shape) != tensor.dim():
            raise ExportError(
                f"dynamic_shapes gives {len(shape)} sizes for {path}, which is of rank {tensor.dim()}"
            )
        pairs = list(enumerate(shape))
    else:
        raise ExportError(
            f"dynamic_shapes gives {describe_value(shape)} for the tensor {path}; give a dict from dimensions, or a tuple"
        )
    seen = set[int]()
    for dim, size in pairs:
        if type(dim) is not int or not -tensor.dim() <= dim < tensor.dim():
            raise ExportError(
                f"dynamic_shapes names dimension {dim!r} of {path}, which is of rank {tensor.dim()}"
            )
        if dim % tensor.dim() in seen:
            raise ExportError(f"dynamic_shapes names dimension {dim % tensor.dim()} of {path} twice")
        seen.add(dim % tensor.dim())
        yield dim % tensor.dim(), size


def _declare(path: str, declared: DeclaredSizes, dim: int, size: object) -> None:
    actual = declared.tensor.shape[dim]
    if size is None or type(size) is int:
        if size is not None and size != actual:
            raise ExportError(
                f"dynamic_shapes says that dimension {dim} of {path} is {size}, and the example has {actual}"
            )
        declared.marks.setdefault(STATIC_MARK, set()).add(dim)
        return
    if not isinstance(size, Dim | _Hint):
        instance = ", such as Dim('batch')" if size is Dim else ""
        raise ExportError(
            f"dynamic_shapes gives {describe_value(size)} for dimension {dim} of {path}; "
            f"give a torch.export.Dim{instance}, an int or None"
        )
    mark = DYNAMIC_MARK if isinstance(size, Dim) else _HINTS[size.type.name]
    declared.marks.setdefault(mark, set()).add(dim)
    if mark is STATIC_MARK:
        return
    try:
        low, high = _bound(size.min), _bound(size.max)
    # torch computes the bounds of `batch - 1` when they are asked
    except AssertionError as error:
        raise ExportError(f"dynamic_shapes, dimension {dim} of {path}: {error}") from error
    if (low is not None and actual < low) or (high is not None and actual > high):
        raise ExportError(f"dimension {dim} of {path} is {actual} in the example, which is outside of {size}")
    if mark is DYNAMIC_MARK and actual < 2:
        raise ExportError(
            f"dimension {dim} of {path} may differ, and it is {actual} in the example: sizes 0 and 1 are treated apart by "
            "torch, so that one graph does not serve them and others; give an example with a size of 2 or more"
        )
    declared.bounds[dim] = (low, high)
    if isinstance(size, Dim):
        declared.named[dim] = size


def _bound(value: object) -> int | None:
    """A bound as an int; None where it is open (infinite)."""
    try:
        return int(cast(int, value))
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


@contextmanager
def mark_tensors(declared: Sequence[DeclaredSizes]) -> Iterator[None]:
    """Put the declared marks on these tensors while the `with` block runs, beside those they have."""
    before = [{name: vars(each.tensor).get(name) for name in _MARKS} for each in declared]
    try:
        for each in declared:
            for name in _MARKS:
                given = each.marks.get(name, set())
                vars(each.tensor)[name] = given | (vars(each.tensor).get(name) or set())
        yield
    finally:
        for each, marks in zip(declared, before, strict=True):
            for name, value in marks.items():
                if value is None:
                    vars(each.tensor).pop(name, None)
                else:
                    vars(each.tensor)[name] = value
