"""Configuration: what holds for the process (`config`), and what one call of `compile` chose.

What torch's own settings say: `torch_settings`.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final, Protocol, final

from framesmith.frontend.near_misses import near_miss
from framesmith.frontend.torch_settings import find_changed_settings, is_disabled_by_environment
from framesmith.graph.options import Backend, GraphOptions
from framesmith.graph.shapes.dynamic_dims import DynamicPolicy
from framesmith.guards.kinds.base import describe_value, show_value


@final
@dataclass(slots=True)
class Config:
    """Process-wide switches; change them directly or for a while with `config.patch(name=value)`.

    An unknown name is an AttributeError, a value of another type a TypeError. A field that `torch._dynamo.config` has
    under the same name follows it where that was changed and this was not (`current_config`); what is read of this
    one is what was set here.
    """

    recompile_limit: int = 8
    """Entries of one function or continuation; calls that fit none of them run uncompiled from then on."""
    fail_on_recompile_limit_hit: bool = False
    """Reaching the limit is an error instead of a warning."""
    error_on_recompile: bool = False
    """A second entry is an error."""
    automatic_dynamic_shapes: bool = True
    """Sizes and numbers that were seen to change become symbolic."""
    assume_static_by_default: bool = True
    """False: all sizes are symbolic at once, as with `dynamic=True`."""
    specialize_int: bool = False
    """Ints are never symbolic."""
    specialize_float: bool = False
    """Floats are never symbolic."""
    capture_scalar_outputs: bool = False
    """`Tensor.item()` gives an unknown number instead of a graph break."""
    capture_dynamic_output_shape_ops: bool = False
    """Operations whose output size depends on data give an unknown size instead of a graph break."""
    allow_ignore_mark_dynamic: bool = False
    """A program that fixes a size marked with `mark_dynamic` is no error."""
    reuse_blocks: bool = True
    """A call of a module that is like an earlier one in the same trace repeats what that recorded, instead of being traced."""
    shared_subgraphs: bool = True
    """Inductor compiles what such calls have in common once, as one subgraph, and fuses nothing across its border."""
    optimize_ddp: bool = True
    """The graph of a model under `DistributedDataParallel` is compiled in parts, so that gradients are reduced while others are computed."""
    enable_compiler_collectives: bool = False
    """Processes that compile the same function tell each other which sizes they have seen, and all make one graph."""
    compiler_collective_seconds: int = 300
    """How long a process waits there for the others."""
    suppress_errors: bool = False
    """A backend that fails is a warning, and the function runs uncompiled."""
    raise_bugs: bool = False
    """A bug of framesmith is an error instead of a warning."""
    verify_code: bool = False
    """What is emitted is verified before it runs."""
    verify_correctness: bool = False
    """The backend's result is compared with the graph's on the example inputs."""
    verify_entries: bool = False
    """Entries are checked: a number that was to be symbolic and is not has a guard. For tests of framesmith itself."""
    disable: bool = field(default_factory=is_disabled_by_environment)
    """Nothing is compiled: calls that no entry fits run as they are. `TORCH_COMPILE_DISABLE=1` in the environment sets it."""

    def __setattr__(self, name: str, value: object) -> None:
        _check(name, value)
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # mypy would take every name for a field

        def __getattr__(self, name: str) -> object:
            raise AttributeError(_unknown_field_message(name))

    def __delattr__(self, name: str) -> None:
        said = f"config.{name} cannot be deleted; set it, or use config.patch({name}=...) for a while"
        raise AttributeError(said if name in _TYPES else _unknown_field_message(name))

    def patch(self, *unnamed: object, **changes: object) -> AbstractContextManager[None]:
        """Set fields for the duration of a `with`, or of the calls of a function that it decorates.

        Raises AttributeError for an unknown name and TypeError or ValueError for a wrong value, at once.
        """
        if unnamed:
            raise TypeError(
                f"config.patch() got {show_value(unnamed[0])} without a name; pass fields by name: config.patch(recompile_limit=3)"
            )
        for name, value in changes.items():
            _check(name, value)
        return self._restore_after(changes)

    @contextmanager
    def _restore_after(self, changes: Mapping[str, object]) -> Iterator[None]:
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


_TYPES: Final[Mapping[str, type]] = {item.name: bool if item.type is bool else int for item in fields(Config)}


_TORCH_NAMES: Final = {
    "cache_size_limit": "recompile_limit",
    "accumulated_recompile_limit": "recompile_limit",
}
"""Fields of `torch._dynamo.config` that have another name here."""


def _check(name: str, value: object) -> None:
    """Raises AttributeError for an unknown field, TypeError or ValueError for a value that it does not take."""
    kind = _TYPES.get(name)
    if kind is None:
        raise AttributeError(_unknown_field_message(name))
    if type(value) is not kind:
        expected = "True or False" if kind is bool else "an int"
        raise TypeError(
            f"config.{name} was given {describe_value(value)}; it takes {kind.__name__}: pass {expected}"
        )
    if isinstance(value, int) and value < 0:
        raise ValueError(f"config.{name} was given {value}; the least is 0")


def _unknown_field_message(name: str) -> str:
    other = _TORCH_NAMES.get(name)
    hint = near_miss(name, _TYPES) if other is None else f", it is called {other!r} here"
    return f"config has no field {name!r}{hint}; it has {', '.join(sorted(_TYPES))}"


config = Config()


def current_config() -> Config:
    """The configuration that holds now: our own, with what was changed in `torch._dynamo.config` and not here."""
    changed = {
        name: value
        for name, value in find_changed_settings()
        if getattr(config, name) == getattr(_DEFAULTS, name) and type(value) is _TYPES[name]
    }
    if not changed:
        return config
    # a copy: what torch's settings say never becomes a setting of ours
    merged = replace(config)
    for name, value in changed.items():
        setattr(merged, name, value)
    return merged


_DEFAULTS: Final = Config()


class TracePolicy(DynamicPolicy, Protocol):
    """What a trace asks while it specializes on sizes and numbers.

    `promised`: it met a tensor that `mark_dynamic` marked.
    """

    promised: bool

    def snapshot(self) -> "TracePolicy":
        """The decisions as they are now; what is learnt later does not change them."""
        ...


@final
@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What one call of `compile` chose.

    `captures_unknown`: numbers and sizes that only the running program knows are captured, whatever the configuration
    says; so they are with `fullgraph`, where a break would be an error.
    `shares_entries`: not for `explain`, which shows a compilation from the start.
    `exports`: the graph itself is wanted, for other calls than those that guards allow.
    """

    backend: str | Backend = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    backend_options: Mapping[str, object] = field(default_factory=dict)
    captures_unknown: bool = False
    shares_entries: bool = True
    exports: bool = False

    def text(self) -> str:
        """The arguments of `compile` that were not left out: `backend='eager', fullgraph=True`."""
        chosen: dict[str, object] = {
            "backend": self.backend,
            "fullgraph": self.fullgraph or None,
            "dynamic": self.dynamic,
            "mode": self.mode,
            "options": self.backend_options or None,
        }
        return ", ".join(f"{name}={show_value(value)}" for name, value in chosen.items() if value is not None)

    def for_graph(self) -> GraphOptions:
        """The part that the graph layer takes."""
        settings = current_config()
        captures = self.fullgraph or self.captures_unknown
        return GraphOptions(
            backend=self.backend,
            mode=self.mode,
            backend_options=self.backend_options,
            capture_scalar_outputs=captures or settings.capture_scalar_outputs,
            capture_dynamic_output_shape_ops=captures or settings.capture_dynamic_output_shape_ops,
            verify_correctness=settings.verify_correctness,
            shared_subgraphs=settings.shared_subgraphs,
            exports=self.exports,
        )
