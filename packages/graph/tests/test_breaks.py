"""The catalogue of graph breaks."""

import pickle

import pytest

from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.breaks.breaks import (
    BreakKind,
    DuplicateBreakKind,
    GraphBreak,
    UnknownBreakKind,
    all_kinds,
    kind_of,
    register,
)


def test_a_break_shows_what_why_and_the_remedy():
    message = str(GraphBreak(NATIVE_CALL, "time.time"))
    assert "time.time" in message
    assert NATIVE_CALL.explanation in message
    assert NATIVE_CALL.remedy in message
    assert "id: native-call" in message


@pytest.mark.parametrize("kind", [one for one in all_kinds() if one.reassurance], ids=lambda kind: kind.id)
def test_an_error_does_not_say_that_all_is_well(kind):
    reason = GraphBreak(kind, "time.sleep()")
    assert f"what to do: {kind.reassurance} {kind.remedy}\n" in str(reason)
    assert f"what to do: {kind.remedy}\n" in reason.text(is_error=True)


def test_an_id_is_given_once():
    with pytest.raises(DuplicateBreakKind, match="'native-call' is defined twice"):
        register(BreakKind("native-call", "another", "because", "do"))
    assert kind_of("native-call") is NATIVE_CALL


def test_an_unknown_id_is_named():
    with pytest.raises(UnknownBreakKind, match="no break kind has the id 'nope'"):
        kind_of("nope")


def test_a_break_survives_pickling():
    copy = pickle.loads(pickle.dumps(GraphBreak(NATIVE_CALL, "f")))
    assert (copy.kind, copy.detail) == (NATIVE_CALL, "f")


@pytest.mark.parametrize("kind", list(all_kinds()), ids=lambda kind: kind.id)
def test_every_row_has_sentences(kind):
    assert kind.explanation.endswith(".")
    assert kind.remedy.endswith(".")
    assert kind.title
    assert kind.id == kind.id.lower().replace(" ", "-")
