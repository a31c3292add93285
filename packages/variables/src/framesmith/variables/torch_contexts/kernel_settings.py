"""Settings that kernels read when they run: precision of float32, deterministic algorithms, cuDNN, oneDNN.

A graph that runs as captured turns them where the program does. A backend that replaces operations runs such a setter once, while it
makes its graph, and its kernels find what the caller has set: there the graph breaks where the setting gets another value.
"""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.core import Constant, Keywords, Setting, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.torch_contexts.modes import Setter, register_settings, turn_setting

ROWS: Final = Rows()

_CUDA: Final = (
    ("_get_cudnn_enabled", "_set_cudnn_enabled"),
    ("_get_cudnn_benchmark", "_set_cudnn_benchmark"),
    ("_get_cudnn_deterministic", "_set_cudnn_deterministic"),
    ("_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32"),
    ("_get_cudnn_depthwise_kernel", "_set_cudnn_depthwise_kernel"),
    ("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit"),
    ("_get_cublas_allow_tf32", "_set_cublas_allow_tf32"),
)
_OF_CUDA: Final = frozenset(getter for getter, _ in _CUDA)
_PLAIN: Final = (
    *_CUDA,
    ("_get_mkldnn_enabled", "_set_mkldnn_enabled"),
    ("_get_mkldnn_deterministic", "_set_mkldnn_deterministic"),
    ("_get_float32_matmul_precision", "_set_float32_matmul_precision"),
    ("_get_deterministic_fill_uninitialized_memory", "_set_deterministic_fill_uninitialized_memory"),
)


def _turn(
    tx: TraceContext,
    setting: Setting,
    setter: Setter,
    args: tuple[Tracker, ...],
    question: AmbientValue,
    keywords: Keywords | None = None,
) -> Tracker:
    """Turn a setting as `turn_setting` does. Breaks the graph where the backend replaces operations and the value is another one than
    `question` says it is now."""
    operands = (*args, *(keywords or {}).values())
    matters = setting.name not in _OF_CUDA or torch.cuda.is_available()
    is_known = all(operand.is_python_constant() for operand in operands)
    if not matters or not is_known or tx.graph.runs_as_captured:
        return turn_setting(tx, setting, setter, args, keywords)
    named = {name: value.as_python_constant() for name, value in (keywords or {}).items()}
    with tx.graph.pause_recording():
        before = setting.get()
        setter(*(operand.as_python_constant() for operand in args), **named)
        is_changed = setting.get() != before
        if is_changed and setting.set is not None:
            setting.set(before)
    if is_changed:
        raise GraphBreak(
            BACKEND_LIMIT, f"torch._C.{setter.__name__}(), a setting that kernels read when they run"
        )
    tx.guards.add(Guard.relation(question, Reason("the trace asked torch")))
    return Constant(None)


def _turn_plain(tx: TraceContext, setting: Setting, setter: Setter, args: tuple[Tracker, ...]) -> Tracker:
    return _turn(tx, setting, setter, args, AmbientValue(setting.get, (), setting.get()))


register_settings(ROWS, _PLAIN, _turn_plain)


_PRECISION: Final = "precision of float32"


def _known_texts(*operands: Tracker) -> list[str]:
    values = [operand.as_python_constant() if operand.is_python_constant() else None for operand in operands]
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        raise GraphBreak(BACKEND_LIMIT, "a precision of float32 that is not known")
    return texts


def _precision_of(place: list[str]) -> AmbientValue:
    question = torch._C._get_fp32_precision_getter
    return AmbientValue(question, tuple(place), question(*place))


@ROWS.call(torch._C._get_fp32_precision_getter)
def get_precision(tx: TraceContext, backend: Tracker, op: Tracker, /) -> Tracker:
    """`torch._C._get_fp32_precision_getter(backend, op)`. What the trace has set may show in other places."""
    asked = _known_texts(backend, op)
    own = f"{_PRECISION} {asked}"
    touched = [name for name in tx.changes.ambient.before() if name.startswith(_PRECISION)]
    # Setting a precision of a backend also changes what its operations, and more specific settings, answer.
    if touched and touched != [own]:
        raise GraphBreak(BACKEND_LIMIT, "a precision of float32 after another one was set")
    found = _precision_of(asked)
    if not touched:
        tx.guards.add(Guard.relation(found, Reason("the trace asked torch")))
    return Constant(found.answer)


@ROWS.call(torch._C._set_fp32_precision_setter)
def set_precision(tx: TraceContext, backend: Tracker, op: Tracker, value: Tracker, /) -> Tracker:
    """`torch._C._set_fp32_precision_setter(backend, op, value)`, which the `flags` of `torch.backends` call."""
    place = _known_texts(backend, op, value)[:2]
    setter: Setter = torch._C._set_fp32_precision_setter

    def put(before: object) -> None:
        assert isinstance(before, str)
        setter(*place, before)

    setting = Setting(f"{_PRECISION} {place}", lambda: torch._C._get_fp32_precision_getter(*place), put)
    return _turn(tx, setting, setter, (backend, op, value), _precision_of(place))


def _deterministic() -> tuple[bool, bool]:
    return torch._C._get_deterministic_algorithms(), torch._C._get_deterministic_algorithms_warn_only()


def _set_deterministic(state: object) -> None:
    assert isinstance(state, tuple)
    torch._C._set_deterministic_algorithms(state[0], warn_only=state[1])


DETERMINISTIC: Final = Setting("deterministic algorithms", _deterministic, _set_deterministic)


@ROWS.call(torch._C._set_deterministic_algorithms)
def set_deterministic(tx: TraceContext, mode: Tracker, /, *, warn_only: Tracker | None = None) -> Tracker:
    """`torch._C._set_deterministic_algorithms(mode, warn_only=)`, which `torch.use_deterministic_algorithms` calls."""
    keywords = {} if warn_only is None else {"warn_only": warn_only}
    question = AmbientValue(_deterministic, (), _deterministic())
    return _turn(tx, DETERMINISTIC, torch._C._set_deterministic_algorithms, (mode,), question, keywords)
