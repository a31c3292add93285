"""Which graphs run as they were captured, whatever the backend: AOTAutograd, of which most are made, would compute something else.

Each question looks at a closed graph and the inputs that it uses. A backend that is known to run the captured operations is not asked for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

import torch
from torch import fx

from framesmith.graph.backends.detached_views import returns_detached_views
from framesmith.graph.backends.detached_writes import writes_past_histories, writes_unseen
from framesmith.graph.backends.empty_operands import REFUSING_EMPTY, has_empty_operands
from framesmith.graph.backends.forbidden_views import has_outdated_views
from framesmith.graph.backends.given_targets import has_given_targets
from framesmith.graph.backends.graph_contents import GraphContents
from framesmith.graph.backends.hooked_values import runs_hooks_otherwise
from framesmith.graph.backends.listed_views import OF_LISTS, writes_to_listed_views
from framesmith.graph.backends.marked_leaves import shows_marked_leaves
from framesmith.graph.backends.masked_gradients import has_masked_gradients
from framesmith.graph.backends.missing_derivatives import lacks_derivatives
from framesmith.graph.backends.needed_operands import needs_written_operands
from framesmith.graph.backends.other_strides import writes_behind_other_strides
from framesmith.graph.backends.overlapping_inputs import overlap_unseen, returns_views_of_overlapping
from framesmith.graph.backends.overlapping_writes import UNSEEN_VIEWS, has_overlapping_writes
from framesmith.graph.backends.overwritten_histories import OVERWRITING, overwrites_histories
from framesmith.graph.backends.returned_data import returns_views_of_data
from framesmith.graph.backends.returned_views import (
    returns_own_histories,
    returns_recorded_views,
    returns_varying_views,
)
from framesmith.graph.backends.turned_inputs import writes_to_turned
from framesmith.graph.backends.unrecorded_views import uses_unrecorded_views
from framesmith.graph.backends.unused_operations import NOTHING_REPEATED, drops_unused
from framesmith.graph.backends.weight_copies import reads_old_copies
from framesmith.graph.backends.wrapper_views import shares_memory_of_wrappers
from framesmith.graph.backends.written_reads import (
    are_written_later,
    can_be_kept,
    find_reads,
    find_touched_sources,
)
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.environment.dual_levels import differentiates_in_levels
from framesmith.graph.fakes.fake_copies import is_former_view
from framesmith.graph.fakes.real_strides import OTHER_STRIDES
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.operations.data_errors import CHANGES_FORM
from framesmith.graph.operations.decided_draws import (
    DECIDED_DRAWS,
    ORDERED_DRAWS,
    draws_in_other_order,
    draws_otherwise,
)
from framesmith.graph.operations.random_draws import differentiates_draws
from framesmith.guards.sources.base import Source

AS_CAPTURED: Final = "framesmith_as_captured"
"""The key in the `meta` of a module under which the reason is kept."""
HISTORY_ASKED: Final = "framesmith_history_asked"
"""The key in the `meta` of a node for whose place in the autograd graph the program asks behind the graph."""
_SWITCH: Final = ("_set_grad_enabled",)
_DATA: Final = ("getattr",)

_Occurs: TypeAlias = Callable[[GraphContents], object]
_Question: TypeAlias = tuple[str, Callable[[], bool]]
_OF_GRAPHS: Final[tuple[tuple[str, _Occurs, Callable[[fx.Graph], bool]], ...]] = (
    (
        "an operation writes to memory that it reads in another place",
        lambda has: has.has_effects or has.has(UNSEEN_VIEWS),
        has_overlapping_writes,
    ),
    (
        "an input is given another form, and written to, or is a leaf",
        lambda has: has.has(CHANGES_FORM),
        writes_to_turned,
    ),
    ("a view is returned of which the memory was written to", lambda has: True, has_outdated_views),
    ("what is given as `out` is not contiguous", lambda has: "out" in has.keywords, has_given_targets),
    (
        "a dropout has a probability for which eager draws nothing",
        lambda has: has.has(DECIDED_DRAWS),
        draws_otherwise,
    ),
    (
        "random numbers are drawn into memory that is not contiguous",
        lambda has: has.has(ORDERED_DRAWS),
        draws_in_other_order,
    ),
    (
        "an operation works on a tensor of no elements",
        lambda has: has.has(REFUSING_EMPTY),
        has_empty_operands,
    ),
    (
        "a level of forward-mode differentiation holds what requires gradients",
        lambda has: has.has_gradients,
        differentiates_in_levels,
    ),
    (
        "what may be a copy is written to, of a result with other strides than a backend expects",
        lambda has: has.has_effects and has.has(OTHER_STRIDES),
        writes_behind_other_strides,
    ),
    (
        "what requires gradients is stored where a mask is true (masked_scatter or torch.where would be compiled)",
        lambda has: has.has_effects and has.has_gradients,
        has_masked_gradients,
    ),
    (
        "an operation on what requires gradients has no derivative",
        lambda has: has.has_gradients,
        lacks_derivatives,
    ),
    (
        "a view of what requires gradients was taken where they are off, and is used where they are on",
        lambda has: has.has_gradients and has.has(_SWITCH),
        uses_unrecorded_views,
    ),
    (
        "an operation on lists writes to a view of what is differentiated",
        lambda has: has.has_gradients and any(one.startswith(OF_LISTS) for one in has.names),
        writes_to_listed_views,
    ),
    (
        "a checkpointed function draws random numbers, and the graph has a backward pass of its own",
        lambda has: has.has_nested,
        differentiates_draws,
    ),
)
"""Questions about a graph alone: the reason, what has to occur in it, and whether it holds then."""


def why_captured(
    graph: fx.Graph,
    used: Sequence[Input],
    written: Collection[Source],
    start: Ambient,
    *,
    keeps_all: bool = False,
    copies: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED,
) -> str | None:
    """Why no other form of the graph does what eager does; None if one does. `start`: torch's switches when it begins; `keeps_all`: see
    `Reliance`."""
    has = GraphContents.of(graph)
    for reason, occurs, holds in _OF_GRAPHS:
        if occurs(has) and holds(graph):
            return reason
    touched = find_touched_sources(graph, used, written) if has.has_effects else written
    questions: tuple[_Question, ...] = (
        ("inputs share memory, and one is written to", lambda: overlap_unseen(used, touched)),
        (
            "inputs share memory, one is written to, and a view of one is returned",
            lambda: returns_views_of_overlapping(graph, used, touched),
        ),
        (
            "a result has the memory of an input, and a history of its own",
            lambda: has.has_effects and has.has_gradients and returns_own_histories(graph, used),
        ),
        *_of_views(graph, used, start, has),
        (
            "a weight is written to while autocast goes on with its copy",
            lambda: has.has_effects and reads_old_copies(graph, used, start),
        ),
        (
            "a tensor that requires gradients is written to past its history",
            lambda: has.has_effects and writes_past_histories(graph, used, start),
        ),
        (
            "what has a history is overwritten, which forgets it",
            lambda: has.has_gradients and has.has(OVERWRITING) and overwrites_histories(graph, used, written),
        ),
        (
            "what has a history is written to where gradients are on, and the graph begins without them",
            lambda: has.has_effects and has.has_gradients and writes_unseen(graph, used, start),
        ),
        (
            "a view of an input that is written to is returned, and its sizes vary",
            lambda: returns_varying_views(graph, used, written),
        ),
        (
            "a tensor that wraps others shares memory with a result, or with one that is written to",
            lambda: has.has_wrappers and shares_memory_of_wrappers(graph, used),
        ),
        (
            "random numbers are drawn, or an operation may raise, and nothing needs it",
            lambda: (has.has_effects or has.has_nested or not keeps_all) and drops_unused(graph, copies),
        ),
        *_of_saved_operands(graph, used, written, has),
        (
            "a hook reads, or belongs to, what the program has too, or has no part in a result",
            lambda: runs_hooks_otherwise(graph, used, written),
        ),
        (
            "a value that the graph makes a leaf is a result, or all on which one depends",
            lambda: shows_marked_leaves(graph, used, written),
        ),
        (
            "the program asks for the history of a result",
            lambda: any(HISTORY_ASKED in node.meta for node in graph.nodes),
        ),
        (
            "an input that requires gradients is written to and read",
            lambda: not all(map(can_be_kept, find_reads(graph, used, written))),
        ),
    )
    return next((reason for reason, holds in questions if holds()), None)


def _of_saved_operands(
    graph: fx.Graph, used: Sequence[Input], written: Collection[Source], has: GraphContents
) -> tuple[_Question, ...]:
    return (
        (
            "what a gradient needs is written to afterwards",
            lambda: has.has_effects and are_written_later(graph, used, written),
        ),
        (
            "the gradient of a write to an input needs what was there",
            lambda: has.has_effects and has.has_gradients and needs_written_operands(graph, used),
        ),
    )


def _of_views(
    graph: fx.Graph, used: Sequence[Input], start: Ambient, has: GraphContents
) -> tuple[_Question, ...]:
    return (
        (
            "an input is a view that has other memory than its base, which counts its writes, and something is written to",
            lambda: (
                has.has_effects
                and any(isinstance(one.value, torch.Tensor) and is_former_view(one.value) for one in used)
            ),
        ),
        (
            "a view of `data` is returned, which has their version counter",
            lambda: has.has(_DATA) and returns_views_of_data(graph),
        ),
        (
            "a view with a history is returned, and detached from it as well",
            lambda: has.has_gradients and returns_detached_views(graph, used),
        ),
        (
            "a view with a history is returned, and the graph begins without gradients",
            lambda: has.has_gradients and not start.grad and returns_recorded_views(graph),
        ),
    )
