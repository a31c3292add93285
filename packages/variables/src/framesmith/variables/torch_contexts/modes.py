"""Settings of torch that a program may change: grad mode, autocast, attention kernels.

A setter runs while tracing, so that fake tensors see the state, and becomes a node, so that the graph
changes the setting at the same point. The context managers around them (`torch.no_grad`, `torch.autocast`,
`sdpa_kernel`) are Python code that is inlined; those written in C are in `native_contexts`.
Those that kernels read when they run are in `kernel_settings`.
"""

from collections.abc import Callable, Iterable
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.environment.ambient import leave_blocks
from framesmith.graph.operations.purity import IMPURE
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core import Constant, Keywords, Setting, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_modes, record_node

ROWS: Final = Rows()

Setter = Callable[..., object]
_AUTOCAST_DEVICES: Final = ("cpu", "cuda", "xpu", "mps", "hpu", "xla", "mtia", "maia", "ipu")


def turn_setting(
    tx: TraceContext,
    setting: Setting | None,
    setter: Setter,
    args: tuple[Tracker, ...],
    keywords: Keywords | None = None,
) -> Tracker:
    """Note the setting as changed, then run the setter and record it as a node. Breaks the graph for unknown values."""
    named = keywords or {}
    if not all(argument.is_python_constant() for argument in (*args, *named.values())):
        raise GraphBreak(BACKEND_LIMIT, f"{setter.__name__}() with a value that is not known")
    # a mode of the caller would see that it is restored after the trace
    check_modes()
    # Before the setter: `touch` reads the value that is restored after the trace.
    if setting is not None:
        tx.changes.ambient.touch(setting)
    node = record_node(tx, setter, args, named)
    # `purity` judges a call by its arguments; without the mark clean-up may drop what nothing uses.
    node.meta[IMPURE] = True
    # Setters return None, but for those of the nesting, which return the number.
    return Constant(node.meta["example_value"])


def register_settings(
    rows: Rows,
    pairs: Iterable[tuple[str, str]],
    turn: Callable[[TraceContext, Setting, Setter, tuple[Tracker, ...]], Tracker],
) -> None:
    """Add a row for each setting of `torch._C` that one function reads, `getter()`, and another one sets, `setter(value)`. The setting
    has the name of the getter."""

    def register(setting: Setting, setter: Setter) -> None:
        rows.call(setter)(lambda tx, value, /: turn(tx, setting, setter, (value,)))

    for read, write in pairs:
        # Some are not there in each version of torch.
        if hasattr(torch._C, read) and hasattr(torch._C, write):
            getter, setter = getattr(torch._C, read), getattr(torch._C, write)
            register(Setting(getter.__name__, getter, setter), setter)


_PLAIN: Final = (
    ("is_grad_enabled", "_set_grad_enabled"),
    ("is_autocast_cache_enabled", "set_autocast_cache_enabled"),
    ("_get_flash_sdp_enabled", "_set_sdp_use_flash"),
    ("_get_mem_efficient_sdp_enabled", "_set_sdp_use_mem_efficient"),
    ("_get_math_sdp_enabled", "_set_sdp_use_math"),
    ("_get_cudnn_sdp_enabled", "_set_sdp_use_cudnn"),
    ("_get_overrideable_sdp_enabled", "_set_sdp_use_overrideable"),
    ("_get_fa3_sdp_enabled", "_set_sdp_use_fa3"),
    ("_get_math_sdp_allow_fp16_bf16_reduction", "_set_math_sdp_allow_fp16_bf16_reduction"),
)
"""Settings that choose operations, so that a backend that replaces operations has read them when it made its graph."""
register_settings(ROWS, _PLAIN, turn_setting)


def _priority_order() -> tuple[int, ...]:
    return tuple(torch._C._get_sdp_priority_order())


def _set_priority_order(order: object) -> None:
    assert isinstance(order, tuple)
    torch._C._set_sdp_priority_order([*order])


PRIORITY_ORDER: Final = Setting(_priority_order.__name__, _priority_order, _set_priority_order)


@ROWS.call(torch._C._get_sdp_priority_order)
def get_priority_order(tx: TraceContext) -> Tracker:
    """`torch._C._get_sdp_priority_order()`: the kernels of attention in the order in which they are tried."""
    found = _priority_order()
    # What the trace has set does not depend on the caller.
    if not tx.changes.ambient.is_touched(PRIORITY_ORDER.name):
        tx.guards.add(
            Guard.relation(AmbientValue(_priority_order, (), found), Reason("the trace asked torch"))
        )
    return ListTracker([*map(Constant, found)])


@ROWS.call(torch._C._set_sdp_priority_order)
def set_priority_order(tx: TraceContext, order: Tracker, /) -> Tracker:
    """`torch._C._set_sdp_priority_order(order)`, which `sdpa_kernel(..., set_priority=True)` calls."""
    order = order.realize()
    items = [item.realize() for item in order.items] if isinstance(order, ListTracker) else [order]
    if not all(isinstance(item, Constant) and type(item.value) is int for item in items):
        raise GraphBreak(BACKEND_LIMIT, "an order of attention kernels that is not known")
    tx.changes.ambient.touch(PRIORITY_ORDER)
    node = record_node(tx, torch._C._set_sdp_priority_order, (order,))
    node.meta[IMPURE] = True
    return Constant(None)


def _set_default_dtype(dtype: object) -> None:
    assert isinstance(dtype, torch.dtype)
    torch._C._set_default_dtype(dtype)


DEFAULT_DTYPE: Final = Setting("get_default_dtype", torch.get_default_dtype, _set_default_dtype)


@ROWS.call(torch._C._set_default_dtype)
def set_default_dtype(tx: TraceContext, dtype: Tracker, /) -> Tracker:
    """`torch._C._set_default_dtype(dtype)`, which `torch.set_default_dtype`
    calls; breaks unless the backend runs the graph as captured."""
    if not tx.graph.runs_as_captured:
        raise GraphBreak(BACKEND_LIMIT, "a default dtype that is set midway")
    return turn_setting(tx, DEFAULT_DTYPE, torch._C._set_default_dtype, (dtype,))


# -- autocast ----------------------------------------------------------------------------------------
def _autocast_enabled(device: str) -> Setting:
    def put(value: object) -> None:
        assert isinstance(value, bool)
        torch.set_autocast_enabled(device, value)

    return Setting(f"autocast on {device}", lambda: torch.is_autocast_enabled(device), put)


def _autocast_dtype(device: str) -> Setting:
    def put(value: object) -> None:
        assert isinstance(value, torch.dtype)
        torch.set_autocast_dtype(device, value)

    return Setting(f"autocast type on {device}", lambda: torch.get_autocast_dtype(device), put)


def _nesting() -> int:
    """The number of autocast blocks that are open; torch returns it only when it changes the number."""
    # The only way to learn the number is to change it, and to change it back.
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def has_more_autocast_blocks(count: int) -> bool:
    """Whether more autocast blocks are open than that."""
    return _nesting() > count


def _set_nesting(wanted: object) -> None:
    assert isinstance(wanted, int)
    depth = _nesting()
    while depth < wanted:
        depth = torch.autocast_increment_nesting()
    if depth > wanted:
        leave_blocks(depth - wanted)


ENABLED: Final = {device: _autocast_enabled(device) for device in _AUTOCAST_DEVICES}
DTYPES: Final = {device: _autocast_dtype(device) for device in _AUTOCAST_DEVICES}
NESTING: Final = Setting("autocast nesting", _nesting, _set_nesting)


def _device(tracker: Tracker, known: dict[str, Setting]) -> Setting:
    name = tracker.as_python_constant() if tracker.is_python_constant() else None
    if not isinstance(name, str) or name not in known:
        raise GraphBreak(BACKEND_LIMIT, f"autocast on {tracker.describe()}")
    return known[name]


@ROWS.call(torch.set_autocast_enabled)
def set_autocast_enabled(tx: TraceContext, *args: Tracker) -> Tracker:
    """`set_autocast_enabled(device, enabled)`, or `set_autocast_enabled(enabled)` for CUDA."""
    device = args[0] if len(args) == 2 else Constant("cuda")
    return turn_setting(tx, _device(device, ENABLED), torch.set_autocast_enabled, args)


@ROWS.call(torch.set_autocast_dtype)
def set_autocast_dtype(tx: TraceContext, device: Tracker, dtype: Tracker, /) -> Tracker:
    """`set_autocast_dtype(device, dtype)`: the type to which autocast casts."""
    return turn_setting(tx, _device(device, DTYPES), torch.set_autocast_dtype, (device, dtype))


@ROWS.call(torch.set_autocast_cpu_enabled)
def set_autocast_cpu_enabled(tx: TraceContext, enabled: Tracker, /) -> Tracker:
    """`set_autocast_cpu_enabled(enabled)`, the old form of `set_autocast_enabled("cpu", enabled)`."""
    return turn_setting(tx, ENABLED["cpu"], torch.set_autocast_cpu_enabled, (enabled,))


@ROWS.call(torch.set_autocast_cpu_dtype)
def set_autocast_cpu_dtype(tx: TraceContext, dtype: Tracker, /) -> Tracker:
    """`set_autocast_cpu_dtype(dtype)`, the old form of `set_autocast_dtype("cpu", dtype)`."""
    return turn_setting(tx, DTYPES["cpu"], torch.set_autocast_cpu_dtype, (dtype,))


@ROWS.call(torch.set_autocast_gpu_dtype)
def set_autocast_gpu_dtype(tx: TraceContext, dtype: Tracker, /) -> Tracker:
    """`set_autocast_gpu_dtype(dtype)`, the old form of `set_autocast_dtype("cuda", dtype)`."""
    return turn_setting(tx, DTYPES["cuda"], torch.set_autocast_gpu_dtype, (dtype,))


@ROWS.call(torch.autocast_increment_nesting)
def increment_nesting(tx: TraceContext) -> Tracker:
    """Count one more open autocast block; returns the number."""
    return turn_setting(tx, NESTING, torch.autocast_increment_nesting, ())


@ROWS.call(torch.autocast_decrement_nesting)
def decrement_nesting(tx: TraceContext) -> Tracker:
    """Count one open autocast block less; returns the number, of which the code of `torch.autocast` asks whether it is 0."""
    left = turn_setting(tx, NESTING, torch.autocast_decrement_nesting, ())
    blocks, now = tx.changes.ambient.before()[NESTING.name], _nesting()
    # How many of its caller's blocks the trace has left; inside of one of its own the number is not 0.
    if isinstance(blocks, int) and blocks >= now:
        tx.guards.add(
            Guard.relation(
                AmbientValue(has_more_autocast_blocks, (blocks - now,), now > 0),
                Reason("the trace left a block"),
            )
        )
    return left


@ROWS.call(torch.clear_autocast_cache)
def clear_autocast_cache(tx: TraceContext) -> Tracker:
    """`torch.clear_autocast_cache()`: drops the weights that autocast has cast."""
    if _nesting() > 0 and not tx.graph.runs_as_captured:
        raise GraphBreak(BACKEND_LIMIT, "clear_autocast_cache() inside of an autocast block")
    # While the caller of the trace is in a block, the cache is the caller's, and could not be put back.
    if tx.changes.ambient.before().get(NESTING.name, NESTING.get()) == 0:
        return turn_setting(tx, None, torch.clear_autocast_cache, ())
    check_modes()
    node = tx.graph.call("call_function", torch.clear_autocast_cache, result=None)
    node.meta[IMPURE] = True
    return Constant(None)


@ROWS.call(
    torch.set_num_threads, torch.set_num_interop_threads, torch.set_flush_denormal, torch.set_anomaly_enabled
)
def set_process_state(tx: TraceContext, *args: Tracker) -> Tracker:
    """Break the graph: these are settings of the whole process."""
    raise GraphBreak(BACKEND_LIMIT, "a setting of the whole process")
