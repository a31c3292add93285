"""Configuration: what holds for the process (`config`), and what one call of `compile` chose."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import final

from framesmith.graph.dynamic_dims import DynamicPolicy
from framesmith.graph.options import Backend, GraphOptions


@final
@dataclass(slots=True)
class Config:
    """Process-wide switches; change them directly or for a while with `config.patch(name=value)`."""

    recompile_limit: int = 8
    continuation_limit: int = 256
    automatic_dynamic_shapes: bool = True
    capture_scalar_outputs: bool = False
    capture_dynamic_output_shape_ops: bool = False
    error_on_recompile: bool = False
    raise_bugs: bool = False
    verify_code: bool = False
    verify_correctness: bool = False
    verify_entries: bool = False
    disable: bool = False

    @contextmanager
    def patch(self, **changes: object) -> Iterator[None]:
        """Set fields for the duration of a `with`. Raises AttributeError for an unknown name."""
        known = {item.name for item in fields(self)}
        unknown = [name for name in changes if name not in known]
        if unknown:
            raise AttributeError(f"config has no field {unknown[0]!r}; it has {', '.join(sorted(known))}")
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


config = Config()


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
        return GraphOptions(
            backend=self.backend,
            mode=self.mode,
            backend_options=self.backend_options,
            capture_scalar_outputs=config.capture_scalar_outputs,
            capture_dynamic_output_shape_ops=config.capture_dynamic_output_shape_ops,
            verify_correctness=config.verify_correctness,
            policy=policy,
        )

    def with_backend(self, backend: Backend) -> "CompileOptions":
        """The same options with another backend."""
        return replace(self, backend=backend)
