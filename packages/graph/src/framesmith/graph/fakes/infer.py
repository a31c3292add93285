"""Running one operation on fake values; its exceptions become FakeFailure (the user's mistake) or GraphBreak.

Where a result becomes a node: `recorder`. Kinds of breaks: `break_kinds`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedFakeTensorException,
    UnsupportedMutationAliasingException,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from framesmith.graph.breaks.break_kinds import (
    DATA_DEPENDENT_OUTPUT,
    DATA_DEPENDENT_SHAPE,
    FAKE_FAILED,
    FAKE_INPUT,
    TENSOR_ITEM,
    UNBACKED_GUARD,
)
from framesmith.graph.breaks.breaks import BreakKind, GraphBreak
from framesmith.graph.breaks.errors import FakeFailure
from framesmith.graph.breaks.interruptions import is_of_signal_handler
from framesmith.graph.environment.silence import SILENCE
from framesmith.graph.operations.changes_of_type import explain_cast
from framesmith.graph.operations.data_readers import explain_data_read
from framesmith.graph.operations.dimension_numbers import check_dimension
from framesmith.graph.operations.growing_results import explain_growth
from framesmith.graph.operations.named_devices import settle_devices
from framesmith.graph.operations.purity import is_outside_of_training
from framesmith.graph.operations.wrong_fakes import WRONG_FAKES
from framesmith.graph.options import is_symbolic

CallKind = Literal["call_function", "call_method"]

COMPUTE: Final = object()
"""Says that no example of the result is given, so that the operation is run."""

_BREAKS: tuple[tuple[type[BaseException], BreakKind], ...] = (
    (DynamicOutputShapeException, DATA_DEPENDENT_SHAPE),
    (GuardOnDataDependentSymNode, UNBACKED_GUARD),
    (UnsupportedOperatorException, FAKE_FAILED),
    (UnsupportedFakeTensorException, FAKE_FAILED),
    (UnsupportedMutationAliasingException, FAKE_FAILED),
)

# A fake of these is said to be a float tensor, and gives itself when it is dequantised.
_QUANTISED = frozenset({torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4})
_DROPOUT = frozenset({torch.dropout, torch.nn.functional.dropout})


def operation_name(op: str, target: object) -> str:
    """A name for people: `torch.add`, `Tensor.add_`, `operator.add`."""
    if op == "call_method":
        return f"Tensor.{target}"
    if isinstance(
        target, torch._ops.OpOverload | torch._ops.OpOverloadPacket | torch._ops.HigherOrderOperator
    ):
        return f"torch.ops.{target}"
    name = str(getattr(target, "__name__", target))
    module = str(getattr(target, "__module__", "") or "torch")
    if module.startswith("torch._C") or module == "torch.functional":
        module = "torch"
    # a function of ours stands for one of the program, after which it is named
    return name if module.startswith("framesmith.") else f"{module.removeprefix('_')}.{name}"


def run(op: CallKind, target: Any, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """The result on fakes. `target` is whatever callable the program calls, hence Any.

    Raises GraphBreak when the graph cannot hold the operation, FakeFailure when eager would raise.
    """
    try:
        reads = WRONG_FAKES.get(target) or explain_data_read(target, args, kwargs)
        if reads is not None:
            raise GraphBreak(FAKE_FAILED, f"{operation_name(op, target)}: {reads}")
        if any(type(given) is torch.dtype and given in _QUANTISED for given in (*args, *kwargs.values())):
            raise GraphBreak(FAKE_FAILED, f"{operation_name(op, target)}: fakes know no quantised tensors")
        with SILENCE:
            mistake = explain_cast(target, args, kwargs) or explain_growth(target, args, kwargs)
            if mistake is not None:
                raise RuntimeError(mistake)
            check_dimension(op, target, args, kwargs)
            result = _call(target, args, kwargs)
        if any(is_symbolic(given) for given in (*args, *kwargs.values())):
            _forget_content(result)
        missing = settle_devices(result, kwargs)
        if missing is not None:
            raise GraphBreak(FAKE_FAILED, f"{operation_name(op, target)}: {missing}")
        return result
    except GraphBreak:
        raise
    except Exception as error:
        raise translate(operation_name(op, target), error) from error


def _forget_content(result: object) -> None:
    """A fake without dimensions may hold what it was made of, as torch folds constants: it reads a symbolic number as NaN there,
    `torch.div(size, 2)`."""
    if isinstance(result, FakeTensor):
        result.constant = None


def _call(
    target: Callable[..., object] | str, args: Sequence[object], kwargs: Mapping[str, object]
) -> object:
    if isinstance(target, str):
        return getattr(args[0], target)(*args[1:], **kwargs)
    result = target(*args, **kwargs)
    # torch's decompositions, which fakes run where a size varies, give a copy where eager gives the operand, and the other way round
    if target in _DROPOUT and _drops_nothing(args, kwargs):
        return _operand(args, kwargs)
    operand = _operand(args, kwargs) if target is torch.native_dropout else None
    if isinstance(operand, torch.Tensor) and isinstance(result, tuple) and result[0] is operand:
        return (operand.clone(), *result[1:])
    return result


def _drops_nothing(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether a dropout is outside of training, or has a probability of 0."""
    probability = [*args[1:2], kwargs.get("p")][0]
    is_never = isinstance(probability, float | int) and probability == 0
    return is_never or is_outside_of_training(args, kwargs)


def _operand(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    return args[0] if args else kwargs["input"]


def translate(operation: str, error: Exception) -> GraphBreak | FakeFailure:
    """The exception to raise for one that an operation raised on fakes: GraphBreak or FakeFailure. One of a handler of a signal is
    raised here: no operation failed."""
    if is_of_signal_handler(error):
        raise error
    # torch wraps some of these errors, so the telling one may be a cause of the one raised.
    for reason in _chain(error):
        if isinstance(reason, DataDependentOutputException):
            item = "local_scalar" in str(reason) or operation in ("Tensor.item", "Tensor.tolist")
            return GraphBreak(TENSOR_ITEM if item else DATA_DEPENDENT_OUTPUT, operation)
        for kind, row in _BREAKS:
            if isinstance(reason, kind):
                said = _first_line(reason)  # for a size that depends on data only the name of a kernel
                return GraphBreak(row, operation if row is DATA_DEPENDENT_SHAPE else f"{operation}: {said}")
    if isinstance(error, NotImplementedError | RuntimeError) and _lacks_kernel(error):
        return GraphBreak(FAKE_FAILED, f"{operation}: {_first_line(error)}")
    return FakeFailure(operation, error)


def translate_input(name: str, error: Exception) -> GraphBreak | FakeFailure:
    """The exception to raise for one that torch raised while it made the fake of an input.

    The program did nothing wrong: `Tensor.data = ...` may leave a gradient of another size, which no fake can have.
    """
    translated = translate(f"faking {name}", error)
    if isinstance(translated, FakeFailure) and isinstance(error, RuntimeError | NotImplementedError):
        return GraphBreak(FAKE_INPUT, f"{name}: {_first_line(error)}")
    return translated


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    reason: BaseException | None = error
    while reason is not None and reason not in found:
        found.append(reason)
        reason = reason.__cause__
    return found


def _lacks_kernel(error: Exception) -> bool:
    message = str(error)
    if "no fake impl registered" in message:
        return True
    return isinstance(error, NotImplementedError) and ("meta" in message.lower() or "fake" in message.lower())


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
