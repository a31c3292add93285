"""The front door: `from framesmith import frontend; frontend.compile(fn)`."""

from framesmith.graph.environment.collector_during_import import pause_collector_for_import

with pause_collector_for_import():
    from framesmith.frontend.api import compile, reset, uncompile
    from framesmith.frontend.directives import (
        allow_in_graph,
        assume_constant_result,
        disable,
        substitute_in_graph,
    )
    from framesmith.frontend.dynamic_marks import (
        mark_dynamic,
        mark_static,
        mark_unbacked,
        maybe_mark_dynamic,
    )
    from framesmith.frontend.errors import (
        BackendFailed,
        BackendFailedWarning,
        DynamicSizeFixed,
        ExportError,
        ForbiddenInGraph,
        FramesmithError,
        FullGraphError,
        IgnoredSettingWarning,
        InvalidArgument,
        NotCompiledWarning,
        ProcessesDiffer,
        RecompileError,
        RecompileLimitWarning,
        SizeOutOfRange,
        TracingBugWarning,
        UnknownBackend,
        UnsoundCode,
        UnsupportedInterpreter,
    )
    from framesmith.frontend.events import configure_logs, counters
    from framesmith.frontend.explain import Explanation, explain
    from framesmith.frontend.export import Exported, export
    from framesmith.frontend.known_functions import graph_break, is_compiling
    from framesmith.frontend.options import config
    from framesmith.frontend.tracing.strict_breaks import error_on_graph_break
    from framesmith.graph.backends.backend import list_backends, register_backend

__all__ = [
    "BackendFailed",
    "BackendFailedWarning",
    "DynamicSizeFixed",
    "Explanation",
    "ExportError",
    "Exported",
    "ForbiddenInGraph",
    "FramesmithError",
    "FullGraphError",
    "IgnoredSettingWarning",
    "InvalidArgument",
    "NotCompiledWarning",
    "ProcessesDiffer",
    "RecompileError",
    "RecompileLimitWarning",
    "SizeOutOfRange",
    "TracingBugWarning",
    "UnknownBackend",
    "UnsoundCode",
    "UnsupportedInterpreter",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "counters",
    "disable",
    "error_on_graph_break",
    "explain",
    "export",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "register_backend",
    "reset",
    "substitute_in_graph",
    "uncompile",
]

configure_logs()


def __dir__() -> list[str]:
    """The public names: the modules of the package are attributes too, once they are imported."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
