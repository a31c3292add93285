"""Queries that are answered while tracing: the state of torch, what is available, tracing itself.

An answer that `GlobalState` holds (grad mode, autocast, default dtype ...; claimed once per entry) needs no guard;
one that can change otherwise gets an `AmbientValue` guard, unless the trace itself has set it (see `modes`).
Queries about values (types, torch functions) are in `type_questions`.
"""

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Final

import torch
import torch._jit_internal
import torch._utils
import torch.compiler
import torch.distributed
import torch.overrides
from torch.optim import adadelta, adam, adamax, asgd, nadam, radam, rmsprop, rprop, sgd

from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core import Constant, TraceContext, Tracker, from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_function_modes, evaluate

ROWS: Final = Rows()

Question = Callable[..., object]

# Guarded by the claim on the global state, or constant in a process.
_SETTLED: Final[tuple[Question, ...]] = (
    torch.is_grad_enabled,
    torch.is_inference_mode_enabled,
    torch.is_autocast_enabled,
    torch.is_autocast_cpu_enabled,
    torch.is_autocast_cache_enabled,
    torch.get_autocast_dtype,
    torch.get_autocast_cpu_dtype,
    torch.get_autocast_gpu_dtype,
    torch.get_default_dtype,
    torch.get_num_threads,
    torch.are_deterministic_algorithms_enabled,
    torch.is_deterministic_algorithms_warn_only_enabled,
    torch.amp.autocast_mode.is_autocast_available,
    torch.cuda.amp.common.amp_definitely_not_available,
    torch._C._is_autocast_available,
    torch._C._is_any_autocast_enabled,
    torch._C._get_deterministic_algorithms,
    torch._C._get_deterministic_algorithms_warn_only,
    torch._C._len_torch_dispatch_stack,
    torch._C._get_privateuse1_backend_name,
    torch.cuda.is_available,
    torch.cuda.device_count,
    torch.cuda.is_bf16_supported,
    torch.backends.cuda.is_built,
    torch.backends.cudnn.is_available,
    torch.backends.cudnn.version,
    torch.backends.mps.is_available,
    torch.backends.mps.is_built,
    torch.backends.mkl.is_available,
    torch.backends.mkldnn.is_available,
    torch.backends.openmp.is_available,
    torch.xpu.is_available,
    torch.mps.device_count,
    torch.distributed.is_available,
    torch._C._get_cpu_capability,
)
# May change between calls, and are not part of the global state.
_CHANGING: Final[tuple[Question, ...]] = (
    torch.is_anomaly_enabled,
    torch.is_anomaly_check_nan_enabled,
    torch.distributed.is_initialized,
    torch.cuda.current_device,
    torch.cuda.is_initialized,
    torch._C._autograd._profiler_enabled,
)
_CHANGING_NATIVE: Final = (
    "_get_cudnn_enabled", "_get_cudnn_benchmark", "_get_cudnn_deterministic", "_get_cudnn_allow_tf32",
    "_cuda_get_cudnn_benchmark_limit", "_get_cudnn_depthwise_kernel",
    "_get_cublas_allow_tf32", "_get_cublas_allow_fp16_reduced_precision_reduction",
    "_get_cublas_allow_bf16_reduced_precision_reduction", "_get_cublas_allow_fp16_accumulation",
    "_get_flash_sdp_enabled", "_get_mem_efficient_sdp_enabled", "_get_math_sdp_enabled", "_get_cudnn_sdp_enabled",
    "_get_overrideable_sdp_enabled", "_get_fa3_sdp_enabled", "_get_math_sdp_allow_fp16_bf16_reduction",
    "_get_mkldnn_enabled", "_get_mkldnn_deterministic", "_get_float32_matmul_precision", "_get_nnpack_enabled",
    "_get_warnAlways", "_get_deterministic_fill_uninitialized_memory", "_get_onednn_allow_tf32",
    "_is_multithreading_enabled", "_is_view_replay_enabled", "_is_fwd_grad_enabled",
)  # fmt: skip
# Code of torch that does something else when it is compiled: `nn.Module._call_impl` omits the `always_call` hooks when
# `forward` raises, `nn.TransformerEncoder` does not ask the padding mask whether the result has zeros there, and `SGD` multiplies
# by a learning rate that is a tensor, which rounds twice, instead of handing it over as `alpha`.
_AS_IN_EAGER: Final = (
    torch.nn.Module._call_impl.__code__,
    torch.nn.TransformerEncoder.forward.__code__,
    sgd._multi_tensor_sgd.__code__,
)
# The steps of optimizers check only in eager that a capturable one is on a device that can capture.
_STEPS: Final = frozenset(
    step.__code__
    for module in (adadelta, adam, adamax, asgd, nadam, radam, rmsprop, rprop)
    for name, step in vars(module).items()
    if name.startswith(("_single_tensor_", "_multi_tensor_")) and isinstance(step, FunctionType)
)
# The answers in the traced program: no other compiler is at work.
_FIXED: Final[tuple[tuple[object, Question], ...]] = (
    (False, torch.compiler.is_exporting),
    (False, torch._jit_internal.is_scripting),
    (False, torch.jit._trace.is_tracing),
    (False, torch.fx._symbolic_trace.is_fx_tracing),
    (None, torch._C._get_tracing_state),
    (False, torch._C._is_tracing),
    (None, torch._C._log_api_usage_once),
)

QUESTIONS: Final[tuple[object, ...]] = (
    *_SETTLED,
    *(question for _, question in _FIXED),
    torch.compiler.is_compiling,
    torch.compiler.is_dynamo_compiling,
    torch._utils.is_compiling,
)
"""Questions that torch answers without asking a mode."""


@ROWS.call(torch.compiler.is_compiling, torch._utils.is_compiling)
def is_compiling(tx: TraceContext) -> Tracker:
    """True, except for code of torch that would do something else than in eager, which we can trace or break at, and in a
    trace whose program raises where it is true."""
    return Constant(not _is_answered_as_in_eager(tx) and tx.changes.tell_compiling())


@ROWS.call(torch.compiler.is_dynamo_compiling)
def is_dynamo_compiling(tx: TraceContext) -> Tracker:
    """As `is_compiling`, for all code."""
    return Constant(tx.changes.tell_compiling())


def _is_answered_as_in_eager(tx: TraceContext) -> bool:
    if tx.graph.asking is None:
        return False
    code, read_local = tx.graph.asking()
    if code in _STEPS:
        # Without it there is nothing to check, and the answer is the usual one.
        capturable = read_local("capturable")
        return isinstance(capturable, Tracker) and _is_true(capturable)
    return code in _AS_IN_EAGER


def _is_true(value: Tracker) -> bool:
    return value.is_python_constant() and bool(value.as_python_constant())


def answer_of(tx: TraceContext, question: Question, operands: tuple[object, ...]) -> object:
    """The answer at this time, read outside of the trace's own modes."""
    # In fake mode some questions would be about the mode: the stack of dispatch modes, for one.
    with tx.graph.pause_recording():
        return evaluate(getattr(question, "__name__", "a question"), question, *operands)


def _register_constant_answer(question: Question) -> None:
    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = tuple(operand.as_python_constant() for operand in (*args, *kwargs.values()))
        return from_python(tx, answer_of(tx, question, operands))

    ROWS.call(question)(answer)


def _register_changing(question: Question) -> None:
    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = tuple(operand.as_python_constant() for operand in (*args, *kwargs.values()))
        return _changing(tx, question, operands)

    ROWS.call(question)(answer)


def _changing(tx: TraceContext, question: Question, operands: tuple[object, ...] = ()) -> Tracker:
    found = answer_of(tx, question, operands)
    if not is_set_by_trace(tx, question):
        tx.guards.add(
            Guard.relation(AmbientValue(question, operands, found), Reason("the trace asked torch"))
        )
    return from_python(tx, found)


@ROWS.call(torch.get_default_device)
def get_default_device(tx: TraceContext) -> Tracker:
    """`torch.get_default_device()`: that of the innermost block of `torch.device` that the trace has entered, else of the caller."""
    check_function_modes()  # it asks modes, by `torch.device(...)`
    device = tx.changes.overrides.innermost_device()
    if device is None:
        return _changing(tx, torch.get_default_device)
    return Constant(answer_of(tx, _device_of_new_tensor, (device,)))


def _device_of_new_tensor(device: torch.device) -> torch.device:
    # With the index of the device that is current, where the block names none.
    return torch.empty(0, device=device).device


@ROWS.call(torch.overrides.is_tensor_method_or_property)
def is_tensor_method(tx: TraceContext, func: Tracker) -> Tracker:
    """Whether it is a method or a getter of tensors, which stays so: the tables of torch are made once."""
    func = func.realize()
    value = getattr(func, "value", None) if func.source is not None else None
    if not callable(value):
        return func.unsupported("asking whether it is a method of tensors")
    return Constant(bool(answer_of(tx, torch.overrides.is_tensor_method_or_property, (value,))))


def _is_in_onnx_export(tx: TraceContext) -> Tracker:
    """A query of a module that is slow to import and seldom
    loaded: looked up in `sys.modules`, where the caller has it."""
    # The row is found by names, so importing this module does not import `torch.onnx`.
    return _changing(tx, vars(sys.modules["torch.onnx"])["is_in_onnx_export"])


ROWS.add(DIRECTIVES, ("torch.onnx", "is_in_onnx_export"), _is_in_onnx_export)


def is_set_by_trace(tx: TraceContext, question: Question) -> bool:
    """Whether the trace itself has set the state that is queried: then the answer does not depend on the caller.

    Settings have the name of the function that reads them (see `modes`).
    """
    return tx.changes.ambient.is_touched(getattr(question, "__name__", ""))


def _register_fixed(value: object, question: Question) -> None:
    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        return Constant(value)

    ROWS.call(question)(answer)


def _install() -> None:
    for question in dict.fromkeys(_SETTLED):
        _register_constant_answer(question)
    for question in dict.fromkeys(_CHANGING):
        _register_changing(question)
    for name in _CHANGING_NATIVE:
        # Depends on the version and on the build.
        if hasattr(torch._C, name):
            _register_changing(getattr(torch._C, name))
    for value, question in _FIXED:
        _register_fixed(value, question)


_install()
