"""`cache.racing_threads`: a trace that met a container which changed is made again, three times at most."""

from types import SimpleNamespace

import pytest

from framesmith.frontend.cache.racing_threads import build_despite_races, read_inputs
from framesmith.frontend.errors import FullGraphError
from framesmith.guards import Scope
from framesmith.guards.sources import Item, Local


class Builder:
    def __init__(self, *errors):
        self.errors = [*errors]
        self.traces = 0

    def build(self, values):
        self.traces += 1
        if self.errors:
            raise self.errors.pop(0)
        return values


def test_what_has_changed_is_read_again():
    builder = Builder(KeyError(3), RuntimeError("dictionary changed size during iteration"))
    assert build_despite_races(builder, [1]) == [1]
    assert builder.traces == 3


def test_what_fails_each_time_is_raised():
    builder = Builder(*map(KeyError, range(5)))
    with pytest.raises(KeyError, match="2"):
        build_despite_races(builder, [1])
    assert builder.traces == 3


@pytest.mark.parametrize("error", [AssertionError(), FullGraphError.__new__(FullGraphError), TypeError()])
def test_another_error_is_raised_at_once(error):
    builder = Builder(error)
    with pytest.raises(type(error)):
        build_despite_races(builder, [1])
    assert builder.traces == 1


def test_an_entry_whose_inputs_are_gone_runs_natively():
    entry = SimpleNamespace(loads=[Item(Local("d"), 3)])
    native = SimpleNamespace(loads=[Local("d")])
    assert read_inputs(entry, Scope({"d": {3: 4}}, {}), lambda: native) == (entry, [[4]])
    assert read_inputs(entry, Scope({"d": {}}, {}), lambda: native) == (native, [[{}]])
