"""`framesmith.frontend.tracing.filled_places` and `graph_call`: a call that makes state, and the lines that call a graph."""

import pytest
import torch
from stepping import OPTIONS

from framesmith.frontend.build_entry import EntryBuilder
from framesmith.frontend.cache.specialization import Policy
from framesmith.frontend.cache.trace_start import FunctionStart
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.graph_call import write_graph_call
from framesmith.frontend.tracing import filled_places
from framesmith.frontend.tracing.trace_end import EntryPostponed
from framesmith.graph import CompiledSubgraph, GraphOptions
from framesmith.guards import GuardSet
from framesmith.guards.sources import Local


class Box(torch.nn.Module):
    value = None


class Parcel:
    value = None


def asked_and_stored(x, box, known):
    if box.value is None:
        box.value = x
    return x + 1


def of_an_argument(x, box, known):
    if known["parcel"].value is None:
        known["parcel"].value = x
    return x + 1


def stored(x, box, known):
    box.value = x
    return x + 1


def asked(x, box, known):
    return x + 1 if box.value is None and "x" not in known else x


def none_again(x, box, known):
    box.value = None if box.value is None else x
    return x + 1


def key_asked_and_stored(x, box, known):
    if "x" not in box.known:
        box.known["x"] = x
    return x + 1


def key_of_an_argument(x, box, known):
    if "x" not in known:
        known["x"] = x
    return x + 1


def keys_asked_and_stored(x, box, known):
    if not [*box.known]:
        box.known["y"] = x
    return x + 1


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (asked_and_stored, "box.value"),
        (of_an_argument, None),
        (stored, None),
        (asked, None),
        (none_again, None),
        (key_asked_and_stored, "box.known"),
        (key_of_an_argument, None),
        (keys_asked_and_stored, "box.known"),
    ],
)
def test_a_place_is_filled_that_guards_say_is_empty(function, place, monkeypatch):
    found = []
    monkeypatch.setattr(GraphOptions, "compiles_slowly", property(lambda self: True))
    find = filled_places.find_filled_place

    def seen(tx, tracker_of):
        found.append(find(tx, tracker_of))
        return found[-1]

    monkeypatch.setattr("framesmith.frontend.build_entry.find_filled_place", seen)
    box = Box()
    box.value, box.known = None, {}
    builder = EntryBuilder(FunctionStart(function), OPTIONS, Policy(None), lambda *reason: None)
    builder.build([torch.ones(2), box, {"parcel": Parcel()}])
    assert not found
    builder = EntryBuilder(
        FunctionStart(function), OPTIONS, Policy(None), lambda *reason: None, skips_first_call=True
    )
    try:
        builder.build([torch.ones(2), box, {"parcel": Parcel()}])
    except EntryPostponed as postponed:
        assert postponed.guards is not None and len(postponed.guards) > 2
    assert [None if one is None else one.text() for one in found] == [place]


def test_without_operations_the_results_are_the_inputs():
    writer = EntryWriter(1)
    assert write_graph_call(writer, CompiledSubgraph(None, (), 0, (), None), GuardSet(), None) == []
    graph = CompiledSubgraph(lambda x: (x, x), (Local("x"),), 2, (), None)
    ((line, _),) = write_graph_call(writer, graph, GuardSet(), None)
    assert line.endswith("_x)") and ", = " in line
