"""The one adapter to torch's symbolic shapes: ShapeEnv, FakeTensorMode, TracingContext and symbolic contexts.

What is private in torch is touched here, in `torch_sources` and in `shape_guards`, so that a new torch asks for
changes in few places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeAlias, final

import torch
import torch._guards
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    PendingUnbackedSymbolNotFound,
    ShapeEnv,
    StatefulSymbolicContext,
    StrictMinMaxConstraint,
    SubclassSymbolicContext,
    SymbolicContext,
    compute_unbacked_bindings,
    free_unbacked_symbols,
)
from torch.nested._internal.nested_int import NestedIntNode
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.singleton_int import SingletonInt
from torch.utils._sympy.symbol import SymT, symbol_is_type
from torch.utils._sympy.value_ranges import ValueRanges

from framesmith.graph.breaks.break_kinds import ATTRIBUTE_STORE
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.environment.dynamo_package import prepare
from framesmith.graph.environment.inference_blocks import InferenceBlock, open_blocks, outside_blocks
from framesmith.graph.environment.silence import SILENCE
from framesmith.graph.fakes.fake_copies import gradient_apart, is_former_view, memory_of_plain_input
from framesmith.graph.fakes.infer import translate_input
from framesmith.graph.fakes.new_fakes import NewFakes
from framesmith.graph.fakes.plain_inputs import BackendContext, PlainInputs
from framesmith.graph.fakes.torch_sources import SourceNames, unwrap
from framesmith.graph.nodes.expressions import Expression, Symbol
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.options import GraphOptions
from framesmith.graph.shapes.dynamic_dims import STATIC_DIMS, Dim, DynamicDims
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import Attribute
from framesmith.guards.sources.tensors import Gradient, TensorSize, Unasked

_Treatments: TypeAlias = Mapping[Dim, DimDynamic]
_PLAIN: _Treatments = {
    Dim.STATIC: DimDynamic.STATIC,
    Dim.DYNAMIC: DimDynamic.DYNAMIC,
    Dim.UNBACKED: DimDynamic.UNBACKED,
}
_DUCK: _Treatments = {**_PLAIN, Dim.DYNAMIC: DimDynamic.DUCK}
_NOTHING: Final = nullcontext()
_CHOOSE_KERNELS: Final = ("conv1d", "conv2d", "conv3d", "conv_transpose", "convolution", "_convolution")
_FORGET: Final = tuple(
    forget for method in vars(ShapeEnv).values() if callable(forget := getattr(method, "cache_clear", None))
)
"""Clear torch's caches of methods of ShapeEnv, which live as long as the process and have the ShapeEnv in their keys."""

Place: TypeAlias = tuple[str, int, str]
"""File, line and function."""


@final
class LocatedContext(BackendContext):
    """A tracing context that finds the user's current line only when torch asks for it, which is seldom."""

    def __init__(self, mode: FakeTensorMode, inputs: PlainInputs) -> None:
        self.place: Callable[[], Place | None] = _nowhere
        self._asked: set[Place] = set()
        super().__init__(mode, inputs)

    @property
    def loc_in_frame(self) -> Place | None:
        """The attribute that torch reads: the user's current file, line and function."""
        found = self.place()
        if found is not None:
            self._asked.add(found)
        return found

    @loc_in_frame.setter
    def loc_in_frame(self, value: Place | None) -> None:
        self.place = lambda: value

    def frame_text(self, text: str) -> str:
        """What torch says of a place (`if n == 5:  # tmp/program.py:3 in f`), with the whole path of the file and
        without the line of source: torch cuts off what the path has in common with its own."""
        tail = text.rpartition("  # ")[2]
        for file, line, function in self._asked:
            rest = f":{line} in {function}"
            if tail.endswith(rest) and file.endswith(tail.removesuffix(rest)):
                return f"{file}{rest}"
        return tail


def _constraint(dynamic: DynamicDims, dim: int) -> StrictMinMaxConstraint | None:
    """The range that the user promised for a symbolic size; torch takes that of an unbacked one by another way."""
    if dim not in dynamic.bounds or dynamic.treatment(dim) is not Dim.DYNAMIC:
        return None
    low, high = dynamic.bounds[dim]
    return StrictMinMaxConstraint(
        vr=ValueRanges(low or 0, int_oo if high is None else high),
        warn_only=False,
    )


def _place_of_sizes(source: Source, value: torch.Tensor) -> Source:
    """Where the sizes of a tensor are read: the class of a wrapper is not asked."""
    wraps: bool = is_traceable_wrapper_subclass(value)
    return Unasked(source) if wraps else source


def _make_fake(mode: FakeTensorMode, value: torch.Tensor, context: StatefulSymbolicContext) -> torch.Tensor:
    """The fake of an existing tensor in a mode, which keeps it. torch would take the memory and the dtype of a former view for
    those of its base; it is made as the tensor was, a view first."""
    source = context.tensor_source
    base = value._base if is_former_view(value) else None
    if base is None:
        return mode.from_tensor(value, source=source, symbolic_context=context)
    base_context = context.view_base_context
    assert isinstance(base_context, StatefulSymbolicContext)
    whole = _make_fake(mode, base, base_context)
    with torch.no_grad():
        fake = whole.view_as(whole)
        fake.data = mode.from_tensor(value.detach(), source=source, symbolic_context=context)
    torch._C._autograd._set_creation_meta(fake, torch._C._autograd._get_creation_meta(value))
    assert isinstance(fake, FakeTensor)
    mode.fake_tensor_converter.set_tensor_memo(value, fake)
    return fake


def _nowhere() -> None:
    """The location before `Recorder.locate` was called: unknown."""


def _make_mode(env: ShapeEnv) -> FakeTensorMode:
    """A fake mode in which the number in a 0-d input stays unknown, whatever the example holds.

    `export` says just that. A symbol for such a number would make a backend ask TorchDynamo to begin again.
    """
    return FakeTensorMode(shape_env=env, export=True)


@final
class ShapeEnvAdapter:
    """One ShapeEnv with the fake mode and tracing context of a trace.

    Invariant: symbols are made for sources known to `names` only, so each symbol leads back to one of ours.
    """

    def __init__(self, options: GraphOptions) -> None:
        prepare()
        self.names = SourceNames()
        self._exports = options.exports
        self._treatments = _DUCK if options.duck_shapes else _PLAIN
        self._origins: dict[Symbol, Source] = {}
        self.env = ShapeEnv(
            allow_scalar_outputs=options.capture_scalar_outputs,
            allow_dynamic_output_shape_ops=options.capture_dynamic_output_shape_ops,
            duck_shape=options.duck_shapes,
        )
        self.mode = _make_mode(self.env)
        self.fakes = NewFakes(self.mode)
        self.plain_inputs = PlainInputs(self.mode, self.names)
        self.context = LocatedContext(self.mode, self.plain_inputs)
        self.reads_numbers = False  # whether a backend may have to read numbers out of tensors
        self._backend_mode: FakeTensorMode | None = None
        self._apart: list[torch.Tensor] = []  # see `gradient_apart` and `is_former_view`
        self._fakes_apart: list[torch.Tensor] = []  # their fakes in the mode of a backend

    def for_backend(self) -> tuple[FakeTensorMode, BackendContext]:
        """A fresh fake mode and tracing context with the same symbols.

        Tracing may have changed the metadata of its fakes (`x.t_()`); a backend has to start from the inputs
        as the caller hands them in, so it fakes them again.
        """
        mode = self._backend_mode = _make_mode(self.env)
        mode.allow_scalar_outputs = self.reads_numbers
        context = BackendContext(mode, self.plain_inputs)
        # As in `fake`: before AOTAutograd makes the fakes of their leaves.
        self._fakes_apart = [_make_fake(mode, one, context.tensor_to_context[one]) for one in self._apart]
        return mode, context

    def release(self) -> None:
        """End the trace: clear torch's caches, so that its ShapeEnv dies with the graph it belongs to (ADR 0014).

        Each key names one ShapeEnv, so a later trace loses nothing; one that goes on in another thread computes again.
        """
        self.plain_inputs.release()
        # The program may ask for weak references to what it passed in: `torch.utils.swap_tensors` refuses a tensor that has any.
        for mode in (self.mode, self._backend_mode):
            if mode is not None:
                mode.fake_tensor_converter.meta_converter.describer.lookup_tensor.data.clear()
        self._apart.clear()
        self._fakes_apart.clear()
        if self.env.var_to_range:
            for forget in _FORGET:
                forget()

    def fake_input(
        self,
        source: Source,
        value: torch.Tensor,
        dynamic: DynamicDims,
        blocks: tuple[InferenceBlock, ...],
        pause: Callable[[], AbstractContextManager[None]],
    ) -> torch.Tensor:
        """The fake of an input tensor, made in the cheapest way; `pause` switches the recording off. `blocks`: those of inference mode
        that were open at first; inside of one of the trace the fake would become an inference tensor."""
        if open_blocks() is not blocks:
            with outside_blocks(blocks):
                return self.fake_input(source, value, dynamic, open_blocks(), pause)
        fake = self.plain_fake(source, value, dynamic)
        if fake is not None:
            return fake
        # torch logs an error where it cannot make one; the graph breaks then, which says it
        with pause(), SILENCE:
            try:
                fake = self.fake(source, value, dynamic)
            except Exception as error:
                raise translate_input(source.text(), error) from error
            has_one_memory = type(value) in PLAIN_TENSORS and value.layout is torch.strided
            if has_one_memory and not is_former_view(value) and self.plain_inputs.has_moved(value, fake):
                said = "a view of a tensor whose data were replaced before"
                raise GraphBreak(ATTRIBUTE_STORE, f"{source.text()}, {said}")
        return fake

    def fake(self, source: Source, value: torch.Tensor, dynamic: DynamicDims) -> torch.Tensor:
        """The fake of an input tensor: of its class, a Parameter or view where fakes allow it, its sizes as `dynamic` says."""
        context = self._context(source, value, dynamic)
        first = self._fake_gradient(source, value, dynamic)
        self.plain_inputs.set_context(value, context)
        self.plain_inputs.tell_converter()
        fake = _make_fake(self.mode, value, context)
        del first  # of which the fake has become the gradient
        if is_former_view(value):
            self._apart.append(value)
        sizes: list[object] = list(fake.shape)
        for dim, size in enumerate(sizes):
            if isinstance(size, torch.SymInt) and free_unbacked_symbols(size):
                self._origins[size.node.expr] = TensorSize(_place_of_sizes(source, value), dim)
        self.drop_pending()  # symbols of an input are bound by the input, not by the next operation
        return fake

    def _fake_gradient(
        self, source: Source, value: torch.Tensor, dynamic: DynamicDims
    ) -> torch.Tensor | None:
        """The fake of a gradient that has to be made before that of its leaf."""
        gradient = gradient_apart(value)
        if gradient is None:
            return None
        treatment = DynamicDims.none() if dynamic.is_static(value.dim()) else DynamicDims.all()
        fake = self.fake(Gradient(source), gradient, treatment)
        if not is_former_view(gradient):  # else it is there
            self._apart.append(gradient)
        return fake

    def plain_fake(self, source: Source, value: torch.Tensor, dynamic: DynamicDims) -> torch.Tensor | None:
        """The fake of an input with static sizes that has nothing more to show than its metadata, as nearly all parameters.

        It is a tenth of the work of `fake`, and is made while the fake mode is on. None for a tensor that shares memory,
        is a view, has a gradient or a history ...
        """
        is_static = dynamic is STATIC_DIMS or dynamic.is_static(value.dim())
        memory = memory_of_plain_input(value) if is_static else None
        if memory is None or self.plain_inputs.knows(memory):
            return None
        fake = self.fakes.like(value, requires_grad=value.requires_grad)
        if type(value) is torch.nn.Parameter:
            fake._is_param = True  # what torch asks fakes for
        self.plain_inputs.add(value, memory, fake, source)
        return fake

    def _context(self, source: Source, value: torch.Tensor, dynamic: DynamicDims) -> StatefulSymbolicContext:
        sizes = [self._treatments[treatment] for treatment in dynamic.treatments(value.dim())]
        base = value._base if value._is_view() else None
        base_context = None
        if base is not None:
            # the base's sizes are of no interest by themselves; they have to follow those of the view
            is_static = dynamic.is_static(value.dim()) or is_former_view(value)
            treatment = DynamicDims.none() if is_static else DynamicDims.all()
            base_context = self._context(Attribute(source, "_base"), base, treatment)
        flatten = getattr(value, "__tensor_flatten__", None)
        wraps: bool = is_traceable_wrapper_subclass(value)
        if flatten is not None and wraps:
            attributes, _ = flatten()
            inner: dict[str, SymbolicContext] = {
                name: self._context(Attribute(source, name), part, dynamic.parts.get(name, dynamic))
                for name in attributes
                if isinstance(part := getattr(value, name), torch.Tensor)
            }
            return SubclassSymbolicContext(
                dynamic_sizes=sizes,
                tensor_source=self.names.wrap(_place_of_sizes(source, value)),
                view_base_context=base_context,
                constraint_sizes=[_constraint(dynamic, dim) for dim in range(value.dim())],
                inner_contexts=inner,
            )
        return StatefulSymbolicContext(
            dynamic_sizes=sizes,
            tensor_source=self.names.wrap(source),
            view_base_context=base_context,
            constraint_sizes=[_constraint(dynamic, dim) for dim in range(value.dim())],
            unbacked_bounds=dict(dynamic.bounds) or None,
        )

    def symbolic(self, source: Source, value: int | float) -> torch.SymInt | torch.SymFloat | int | float:
        """A symbol for a number of the program."""
        if isinstance(value, float):
            return self.symbolic_float(source, value)
        return self.symbolic_int(source, int(value))

    def symbolic_int(self, source: Source, value: int) -> torch.SymInt | int:
        """A symbol for an int of the program. 0 and 1 are not special; what is decided about it becomes a guard."""
        ours = self.names.wrap(source)
        symbol = self.env.create_unspecified_symbol(value, source=ours, dynamic_dim=DimDynamic.DYNAMIC)
        return self.env.create_symintnode(symbol, hint=value, source=ours)

    def symbolic_float(self, source: Source, value: float) -> torch.SymFloat | float:
        """A symbol for a float of the program."""
        ours = self.names.wrap(source)
        symbol = self.env.create_unspecified_symbol(value, source=ours, dynamic_dim=DimDynamic.DYNAMIC)
        return self.env.create_symfloatnode(symbol, hint=value, source=ours)

    def unknown_int(self) -> torch.SymInt:
        """A symbol of which nothing is known, and that the next operation does not bind."""
        with self.env.ignore_fresh_unbacked_symbols():
            return self.env.create_unbacked_symint()

    def source_of(self, symbol: Symbol) -> Source | None:
        """The first source that gives the value of a symbol; None for a symbol that an operation invented."""
        return next(self.sources_of(symbol), None)

    def sources_of(self, symbol: Symbol) -> Iterator[Source]:
        """All sources that give the value of a symbol."""
        for source in self.env.var_to_sources.get(symbol, ()):
            ours = unwrap(source)
            if ours is not None:
                yield ours
        if symbol in self._origins:
            yield self._origins[symbol]

    def number_of(self, symbol: Symbol) -> torch.SymInt | torch.SymFloat | int | float:
        """The symbolic number that is just this symbol."""
        hint = self.env.backed_var_to_val.get(symbol)
        if symbol_is_type(symbol, (SymT.FLOAT, SymT.UNBACKED_FLOAT)):
            return self.env.create_symfloatnode(symbol, hint=None if hint is None else float(hint))
        if isinstance(hint, SingletonInt):  # the length of a ragged dimension
            make: Callable[[object], torch.SymInt] = torch.SymInt  # untyped in torch
            return self.env.create_symintnode(symbol, hint=make(NestedIntNode(hint._val, hint._coeff)))
        return self.env.create_symintnode(symbol, hint=None if hint is None else int(hint))

    def unbacked_bindings(self, result: object) -> Mapping[Symbol, tuple[object, ...]] | None:
        """For each symbol that an operation invented the path to it in the operation's result; None if it invented none, or
        one that the result does not show, as the size of the view in `x[:n] = 1`: nothing can ask for that."""
        if not self.env.pending_fresh_unbacked_symbols:
            return None
        try:
            return compute_unbacked_bindings(self.env, result)
        except PendingUnbackedSymbolNotFound:
            self.drop_pending()
            return None

    def take_numbers_read(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors from which the operation that has just run read the only number; they forget it."""
        pending = self.env.pending_fresh_unbacked_symbols
        read: list[torch.Tensor] = []
        for tensor in tensors if pending else ():
            if not isinstance(tensor, FakeTensor):
                continue
            expression = getattr(getattr(tensor.item_memo, "node", None), "expr", None)
            if expression is not None and not expression.free_symbols.isdisjoint(pending):
                # The symbol is dropped with the operation; the next reading has to invent one that a node binds.
                tensor.item_memo = None
                read.append(tensor)
        return read

    def dispatching(self, op: str, target: object) -> AbstractContextManager[object]:
        """While an operation runs on fakes: where there are symbols, torch's decompositions in Python are used, since many of
        those in C++ take plain numbers only."""
        if not self.env.var_to_range:
            return _NOTHING
        if self._exports and operator_name(op, target).startswith(_CHOOSE_KERNELS):
            return self._without_choices()
        return torch._C._EnablePythonDispatcher()

    @contextmanager
    def _without_choices(self) -> Iterator[None]:
        """While a convolution of an exported graph runs on fakes: the batch decides nothing. torch asks for the kernel that it would
        choose for the example; the graph's operation chooses again, and checks all sizes, whenever it runs."""
        with torch._C._EnablePythonDispatcher(), self.env.suppress_guards():
            yield

    def decisions(self, since: int) -> list[Expression]:
        """What was decided about symbolic numbers, from the given decision on."""
        return [guard.expr for guard in self.env.guards[since:]]

    def drop_pending(self) -> None:
        """Forget the symbols just invented, so that the next operation does not bind them."""
        self.env.pending_fresh_unbacked_symbols.clear()
