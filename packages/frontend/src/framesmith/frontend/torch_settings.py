"""What the process said through torch: `torch._dynamo.config`, the default backend, environment variables.

The one module that reads them. `torch._dynamo` is looked up among the loaded modules and never imported: as long as it
is not loaded, nothing has been set through it.
"""

import os
from collections.abc import Iterator
from types import ModuleType
from typing import Final

from framesmith.frontend.errors import IgnoredSettingWarning
from framesmith.frontend.user_warnings import warn
from framesmith.guards.imported import find_loaded

SAME: Final = frozenset({
    "recompile_limit", "automatic_dynamic_shapes", "assume_static_by_default", "specialize_int", "specialize_float",
    "capture_scalar_outputs", "capture_dynamic_output_shape_ops", "error_on_recompile", "fail_on_recompile_limit_hit",
    "suppress_errors", "disable", "allow_ignore_mark_dynamic", "verify_correctness", "optimize_ddp",
    "enable_compiler_collectives",
})  # fmt: skip
"""Fields of `torch._dynamo.config` that `frontend.config` has under the same name."""

_ON: Final = {"optimize_ddp": "ddp_optimizer"}
"""Fields there that take True, False or a text, and the text that means True: the others ask for what is not done here."""

_OTHER_NAMES: Final = frozenset({"cache_size_limit"})
"""Other names of fields of `SAME`."""

_ALWAYS: Final = dict.fromkeys(
    ("verbose", "guard_nn_modules", "inline_inbuilt_nn_modules", "nested_graph_breaks", "print_graph_breaks"),
    True,
)
"""Fields without a counterpart, and the value that always holds here."""

_DISABLING: Final = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_warned: set[str] = set()
_checked: list[object] = []  # the state of torch's configuration that was searched last


def is_disabled_by_environment() -> bool:
    """Whether a variable that switches torch.compile off is set. Asked once, for the default of `config.disable`."""
    return any(os.environ.get(name, "0") not in ("", "0") for name in _DISABLING)


def dynamo_config() -> ModuleType | None:
    """`torch._dynamo.config`, if it is loaded."""
    return find_loaded("torch._dynamo.config")


def find_changed_settings() -> Iterator[tuple[str, object]]:
    """The fields of `SAME` that the user has changed, with their values."""
    module = dynamo_config()
    if module is not None:
        for name in SAME:
            # in this order: reading a field takes torch several times as long as the question whether it was set
            if name in module._config and not module._is_default(name) and hasattr(module, name):
                value = getattr(module, name)
                yield name, value == _ON[name] if isinstance(value, str) and name in _ON else value


def default_backend() -> object:
    """What `torch.compiler.set_default_backend` has set."""
    registry = find_loaded("torch._dynamo.backends.registry")
    asked = getattr(registry, "get_default_backend", None)
    return "inductor" if asked is None else asked()


def warn_of_ignored() -> None:
    """Say once of each field of `torch._dynamo.config` that was changed and means nothing here."""
    module = dynamo_config()
    if module is None:
        return
    # It differs as soon as a field does, so each state is searched once; torch's hash leaves out some fields, asked here.
    unhashed = [
        name for name in module._compile_ignored_keys & module._config.keys() if not module._is_default(name)
    ]
    state = (module.get_hash(), unhashed)
    if _checked == [state]:
        return
    _checked[:] = [state]
    for name in module._config:
        if name in SAME or name in _OTHER_NAMES or not _is_changed(module, name):
            continue
        if name not in _ALWAYS or getattr(module, name) != _ALWAYS[name]:
            warn_once(
                f"torch._dynamo.config.{name}",
                f"torch._dynamo.config.{name} = {getattr(module, name)!r} has no effect on functions that framesmith compiles; "
                f"of the fields there it follows {', '.join(sorted(SAME))}",
            )


def _is_changed(module: ModuleType, name: str) -> bool:
    """Whether a field differs from its default: torch's `_is_default` does not see that one was put back."""
    return not module._is_default(name) and getattr(module, name) != module._config[name].default


def warn_once(key: str, message: str, category: type[Warning] = IgnoredSettingWarning) -> None:
    """One warning a process for each key."""
    if key not in _warned:
        _warned.add(key)
        warn(message, category)


def forget_warnings() -> None:
    """Let `warn_once` speak again."""
    _warned.clear()
    _checked.clear()
