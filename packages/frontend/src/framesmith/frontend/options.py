"""Configuration: what holds for the process (`config`), and what one call of `compile` chose."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Final, Protocol, final

from framesmith.frontend.torch_settings import changed_settings, is_disabled_by_environment
from framesmith.graph.dynamic_dims import DynamicPolicy
from framesmith.graph.options import Backend, GraphOptions
from framesmith.guards.words import a_type


@final
@dataclass(slots=True)
class Config:
    """Process-wide switches; change them directly or for a while with `config.patch(name=value)`.

    An unknown name is an AttributeError, a value of another type a TypeError. A field that `torch._dynamo.config` has
    under the same name follows it where that was changed and this was not (`in_force`).
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
    """Nothing is compiled: calls that no entry fits run as they are."""

    def __setattr__(self, name: str, value: object) -> None:
        kind = _TYPES.get(name)
        if kind is None:
            raise AttributeError(_unknown(name, _TYPES))
        if type(value) is not kind:
            raise TypeError(
                f"config.{name} was given {value!r}, {a_type(type(value))}; it takes {kind.__name__}"
            )
        if isinstance(value, int) and value < 0:
            raise ValueError(f"config.{name} was given {value}; the least is 0")
        object.__setattr__(self, name, value)

    @contextmanager
    def patch(self, **changes: object) -> Iterator[None]:
        """Set fields for the duration of a `with`. Raises AttributeError for an unknown name, before anything is set."""
        for name in changes:
            if name not in _TYPES:
                raise AttributeError(_unknown(name, _TYPES))
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


_TYPES: Final[Mapping[str, type]] = {item.name: bool if item.type is bool else int for item in fields(Config)}


def _unknown(name: str, known: Iterable[str]) -> str:
    return f"config has no field {name!r}{near_miss(name, known)}; it has {', '.join(sorted(known))}"


def near_miss(name: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` when a known name is close."""
    close = get_close_matches(name, list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


config = Config()


def in_force() -> Config:
    """The configuration that holds now: our own, with what was changed in `torch._dynamo.config` and not here."""
    changed = {
        name: value
        for name, value in changed_settings()
        if getattr(config, name) == getattr(_DEFAULTS, name) and type(value) is _TYPES[name]
    }
    if not changed:
        return config
    merged = replace(config)
    for name, value in changed.items():
        setattr(merged, name, value)
    return merged


_DEFAULTS: Final = Config()


class TracePolicy(DynamicPolicy, Protocol):
    """What a trace asks while it specialises on sizes and numbers.

    `promised`: it met a tensor that `mark_dynamic` marked.
    """

    promised: bool

    def frozen(self) -> "TracePolicy":
        """The decisions as they are now; what is learnt later does not change them."""
        ...


@final
@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What one call of `compile` chose."""

    backend: str | Backend = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    backend_options: Mapping[str, object] = field(default_factory=dict)

    def for_graph(self, policy: DynamicPolicy | None = None) -> GraphOptions:
        """The part that the graph layer takes."""
        settings = in_force()
        return GraphOptions(
            backend=self.backend,
            mode=self.mode,
            backend_options=self.backend_options,
            capture_scalar_outputs=settings.capture_scalar_outputs,
            capture_dynamic_output_shape_ops=settings.capture_dynamic_output_shape_ops,
            verify_correctness=settings.verify_correctness,
            policy=policy,
        )
