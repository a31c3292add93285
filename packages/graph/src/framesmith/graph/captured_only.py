"""Which graphs run as they were captured, whatever the backend: AOTAutograd, of which most are made, would compute something else.

Each question looks at a closed graph and the inputs that it uses. A backend that is known to run the captured operations is not asked for.
"""

from collections.abc import Collection, Sequence

from torch import fx

from framesmith.graph.ambient import Ambient
from framesmith.graph.decided_draws import draws_otherwise
from framesmith.graph.detached_writes import writes_past_histories
from framesmith.graph.forbidden_views import has_outdated_views
from framesmith.graph.inputs import Input
from framesmith.graph.overlapping_inputs import overlap_unseen
from framesmith.graph.overlapping_writes import has_overlapping_writes
from framesmith.graph.unused_draws import drops_nested_draws
from framesmith.graph.weight_copies import reads_old_copies
from framesmith.graph.written_reads import can_be_kept, find_reads
from framesmith.guards.sources.base import Source


def must_run_as_captured(
    graph: fx.Graph, used: Sequence[Input], written: Collection[Source], start: Ambient
) -> bool:
    """Whether no other form of the graph does what eager does. `start`: torch's switches when it begins."""
    return (
        overlap_unseen(used, written)
        or has_overlapping_writes(graph)
        or reads_old_copies(graph, used, start)
        or writes_past_histories(graph, used, start)
        or has_outdated_views(graph)
        or drops_nested_draws(graph)
        or draws_otherwise(graph)
        or not all(map(can_be_kept, find_reads(graph, used, written)))
    )
