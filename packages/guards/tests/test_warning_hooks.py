"""`ShowsWarningsPlainly`: whether showing a warning runs code of the user, asked of the modules `warnings` and `sys`."""

import io
import sys
import warnings
from pathlib import Path

import pytest

from framesmith.guards.kinds import ShowsWarningsPlainly
from framesmith.guards.sources import Pinned
from framesmith.guards.warning_hooks import is_plain_stream

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import guards, passes, why  # noqa: E402  # the neighbour

SOURCE = Pinned(warnings, "warnings")


@pytest.fixture(autouse=True)
def recorded():
    with warnings.catch_warnings(record=True):
        yield


def test_a_recorded_warning_runs_no_code():
    assert passes(guards((SOURCE, ShowsWarningsPlainly())), {})


@pytest.mark.parametrize(
    "name", ["_showwarnmsg", "_showwarnmsg_impl", "showwarning", "_formatwarnmsg", "formatwarning"]
)
def test_a_function_of_the_program_is_a_miss(name, monkeypatch):
    found = guards((SOURCE, ShowsWarningsPlainly()))
    monkeypatch.setattr(warnings, name, lambda *given: None)
    assert not passes(found, {})
    assert "showing a warning runs code of the program" in why(found, {})


class Stream(io.StringIO):
    pass


def test_a_stream_is_plain_as_long_as_all_of_it_is_the_interpreters():
    stream = io.StringIO()
    assert is_plain_stream(stream) and is_plain_stream(None) and is_plain_stream(sys.__stderr__)
    assert not is_plain_stream(Stream()) and not is_plain_stream(object())
    stream.write = print
    assert not is_plain_stream(stream)
    wrapper = io.TextIOWrapper(io.BytesIO())
    assert is_plain_stream(wrapper)
    wrapper.detach()
    assert not is_plain_stream(wrapper)
