"""The one module that uses `torch._C._dynamo.guards`, and most of the other private parts of torch that guards use.

What was found out by running torch 2.13, 2.14 and 2.15 (they agree):
- `TensorGuards` compares exact type, dispatch keys, dtype, device, `requires_grad`, sizes and strides (sizes and
  strides come from the lists, not from the example tensors), and refuses the same tensor twice in one call.
  The dispatch keys are those *in force*: inference mode, dispatch modes, functorch levels and autocast change them.
  It does not compare layout details of sparse or quantised tensors.
  It aborts the process when it meets a nested tensor of the plain class (strided layout): ask `is_nested` first.
- `GlobalStateGuard` compares grad mode, autocast, default dtype, deterministic algorithms, number of threads, TF32
  and reduced-precision switches, and whether torch functions are disabled; no mode stacks, no levels, no hooks.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast, final

import torch
from torch._C._dynamo import guards as _native
from torch._C._functorch import get_interpreter_stack, peek_interpreter_stack
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _disable_current_modes

dict_version: Callable[[dict[object, object]], int] = _native.dict_version

#: The module whose `_current_level` is the forward-mode differentiation level (-1 outside).
forward_ad_module = forward_ad

is_inference_mode: Callable[[], bool] = torch.is_inference_mode_enabled
function_mode_depth: Callable[[], int] = torch._C._len_torch_function_stack
#: Called with None: whether a torch-function mode is entered, in half of the time that counting them takes. Always
#: False while torch functions are disabled altogether.
function_mode_applies: Callable[[object], bool] = torch._C._has_torch_function_unary
dispatch_mode_depth: Callable[[], int] = torch._C._len_torch_dispatch_stack
functorch_top: Callable[[], object] = peek_interpreter_stack

_AUTOCAST_DEVICES: Final = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "privateuseone", "mps")
"""In the order in which torch lists their settings."""
_AUTOCAST_TYPES: Final = {5: "torch.float16", 15: "torch.bfloat16"}
"""By the numbers of torch's `ScalarType`."""


@final
class StateSnapshot:
    """The process-wide switches at one moment, and the native check that they are unchanged."""

    __slots__ = ("_guard", "fields")

    def __init__(self) -> None:
        self._guard = _native.GlobalStateGuard()
        # What a message names: the native check only says that something changed.
        self.fields: dict[str, object] = json.loads(str(self._guard.__getstate__()))

    @property
    def check(self) -> Callable[[], bool]:
        """The bound native method: it returns whether the switches are as they were."""
        return self._guard.check

    @property
    def allows_function_modes(self) -> bool:
        """Whether torch-function modes had an effect (torch functions were not disabled); `check` compares this too."""
        return self.fields.get("torch_function_all_disabled") is False

    @property
    def records_gradients(self) -> bool:
        """Whether grad mode was on."""
        return self.fields.get("grad_mode") is not False

    @property
    def has_autocast(self) -> bool:
        """Whether autocast was on for some device."""
        state = self.fields.get("autocast_state")
        return isinstance(state, dict) and any(state.get("enabled", ()))

    def changes(self) -> list[str]:
        """What differs now, one phrase a field."""
        now = StateSnapshot().fields
        found = list[str]()
        for name, was in self.fields.items():
            if was == now.get(name):
                continue
            by_device = _autocast_changes(was, now.get(name)) if name == "autocast_state" else []
            found += by_device or [f"{name} changed from {_flat(was)} to {_flat(now.get(name))}"]
        return found


def _autocast_changes(was: object, now: object) -> list[str]:
    """What differs in autocast, one phrase a device; nothing where torch lists other devices than those that are known."""
    before, after = _autocast_of(was), _autocast_of(now)
    pairs = zip(_AUTOCAST_DEVICES, before, after, strict=True) if before and after else ()
    return [f"autocast on {name} changed from {one} to {other}" for name, one, other in pairs if one != other]


def _autocast_of(state: object) -> list[str]:
    """For each device what autocast does: `off`, or the type that it casts to."""
    if not isinstance(state, dict):
        return []
    enabled, types = state.get("enabled", ()), state.get("dtype", ())
    if not len(enabled) == len(types) == len(_AUTOCAST_DEVICES):
        return []
    given = zip(enabled, types, strict=True)
    return [_AUTOCAST_TYPES.get(dtype, f"type {dtype}") if is_on else "off" for is_on, dtype in given]


def _flat(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@final
class DispatchState:
    """The dispatch keys a thread includes and excludes at one moment."""

    __slots__ = ("_exclude", "_include")

    def __init__(self) -> None:
        self._include = torch._C._dispatch_tls_local_include_set()
        self._exclude = torch._C._dispatch_tls_local_exclude_set()

    def force(self) -> contextlib.AbstractContextManager[object]:
        """A context in which these keys are in force."""
        guard: contextlib.AbstractContextManager[object] = torch._C._ForceDispatchKeyGuard(
            self._include, self._exclude
        )
        return guard


def dispatch_keys(tensor: torch.Tensor) -> int:
    """The tensor's own dispatch keys, without those in force."""
    return torch._C._dispatch_keys(tensor).raw_repr()


def tensor_check(
    examples: Sequence[torch.Tensor],
    sizes: Sequence[Sequence[int | None]],
    strides: Sequence[Sequence[int | None]],
) -> Callable[..., bool]:
    """The native check of as many tensors as there are examples: against type, keys, dtype, device and `requires_grad`
    of the examples, and against these sizes and strides (None: any). It refuses the same tensor given twice."""
    guards = _native.TensorGuards(
        *examples,
        dynamic_dims_sizes=_listed(sizes),
        dynamic_dims_strides=_listed(strides),
    )
    return guards.check


def _listed(dims: Sequence[Sequence[int | None]]) -> list[torch.SymInt | None]:
    """Lists of lists, which is what the native check takes; torch's stub lacks a level."""
    return cast("list[torch.SymInt | None]", [list(each) for each in dims])


@contextlib.contextmanager
def outside_modes(inference: bool) -> Iterator[None]:
    """A context without the modes that the user has entered, for making plain tensors; inference tensors if `inference`."""
    with (
        _disable_current_modes(),
        torch._C.DisableTorchFunction(),
        torch._C._DisableFuncTorch(),
        torch.inference_mode(inference),
    ):
        yield


def function_modes() -> list[object]:
    """The torch-function modes entered, outermost first."""
    return [torch._C._get_function_stack_at(index) for index in range(function_mode_depth())]


def dispatch_modes() -> list[object]:
    """The dispatch modes entered, outermost first."""
    return [torch._C._get_dispatch_stack_at(index) for index in range(dispatch_mode_depth())]


def functorch_levels() -> list[tuple[str, int]]:
    """The functorch transforms entered (kind and level), outermost first."""
    return [(str(item.key()), item.level()) for item in get_interpreter_stack() or ()]


def finds_overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether AOTAutograd takes two tensors of one storage for overlapping. It misses some, `base[:-1, :-1]` and `base[1:, 1:]`."""
    return bool(_native.compute_overlapping_tensors([one, other], symbolic=False))
