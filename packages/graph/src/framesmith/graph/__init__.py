"""The FX graph being recorded: inputs keyed by source, fake values, symbolic shapes, clean-up, the backend.

No bytecode and no trackers here. The page to read first is `recorder`.
"""

from framesmith.graph.environment.collector_during_import import pause_collector_for_import

with pause_collector_for_import():
    from framesmith.graph.backends.backend import list_backends, register_backend
    from framesmith.graph.breaks import break_kinds
    from framesmith.graph.breaks.breaks import BreakKind, GraphBreak, all_kinds, kind_of, register
    from framesmith.graph.breaks.errors import (
        BackendFailed,
        FakeFailure,
        FloatNeeded,
        NumbersNeeded,
        RecorderMisuse,
        UnknownBackend,
    )
    from framesmith.graph.environment.trace_numbers import TraceNumbers
    from framesmith.graph.finish import CompiledSubgraph
    from framesmith.graph.nodes.arguments import Argument, example
    from framesmith.graph.options import GraphOptions
    from framesmith.graph.passes.text import text
    from framesmith.graph.passes.verify import verify
    from framesmith.graph.recorder import Recorder, UserStack
    from framesmith.graph.recording.marker import Marker
    from framesmith.graph.recording.nesting import NestedGraph, NestedRecording, unify
    from framesmith.graph.shapes.dynamic_dims import Dim, DynamicDims

__all__ = [
    "Argument",
    "BackendFailed",
    "BreakKind",
    "CompiledSubgraph",
    "Dim",
    "DynamicDims",
    "FakeFailure",
    "FloatNeeded",
    "NumbersNeeded",
    "GraphBreak",
    "GraphOptions",
    "Marker",
    "NestedGraph",
    "NestedRecording",
    "Recorder",
    "RecorderMisuse",
    "TraceNumbers",
    "UnknownBackend",
    "UserStack",
    "all_kinds",
    "break_kinds",
    "example",
    "kind_of",
    "list_backends",
    "register",
    "register_backend",
    "text",
    "unify",
    "verify",
]
