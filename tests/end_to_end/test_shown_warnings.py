"""A warning that runs code of the user when it is issued is issued in its place; any other is deferred without a break."""

import inspect
import io
import logging
import os
import sys
import types
import warnings

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

LOG = []


def write(*given, **more):
    LOG.append(list(LOG))
    return ""


class Stream:
    def write(self, text):
        LOG.append(list(LOG))


class SubclassOfStream(io.StringIO):
    def write(self, text):
        LOG.append(list(LOG))


class Raw(io.RawIOBase):
    def writable(self):
        return True

    def write(self, text):
        LOG.append(list(LOG))
        return len(text)


def of_raw():
    return io.TextIOWrapper(io.BufferedWriter(Raw(), 1), line_buffering=True)


def of_file():
    return open(os.devnull, "w")  # noqa: SIM115


def of_instance():
    stream = io.StringIO()
    stream.write = write
    return stream


class ListOfUser(list):
    def append(self, message):
        LOG.append(list(LOG))


class Pattern:
    def match(self, text):
        LOG.append(list(LOG))
        return True


class Plain(UserWarning):
    pass


class Made(UserWarning):
    def __init__(self, *args):
        LOG.append("made")


class Written(UserWarning):
    def __str__(self):
        LOG.append("written")
        return ""


class Dropped(UserWarning):
    def __del__(self):
        LOG.append("dropped")


def warning(category):
    def f(x):
        LOG.append("before")
        warnings.warn("text", category, stacklevel=1)
        LOG.append("after")
        return x + 1

    return f


def through_library(x):
    LOG.append("before")
    torch.ones(2, 3, 4).T  # warns, as the graph does when it runs  # noqa: B018
    LOG.append("after")
    return x + 1


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """Show warnings as outside of pytest, which records them."""
    module = sys.modules[warnings.WarningMessage.__module__]
    file = warnings.WarningMessage.__init__.__code__.co_filename
    code = compile(inspect.getsource(module), file, "exec")
    [found] = [one for one in code.co_consts if getattr(one, "co_name", "") == "_showwarnmsg_impl"]
    monkeypatch.setattr(warnings, "_showwarnmsg_impl", types.FunctionType(found, vars(module)))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    warnings.simplefilter("always")
    LOG.clear()


def history(function, calls=2):
    found = []
    for _ in range(calls):
        function(torch.ones(2))
        found.append(list(LOG))
        LOG.clear()
    return found


def count_breaks(compiled):
    return len(api.session_of(compiled).history.breaks)


HOOKS = {
    "showwarning": (warnings, "showwarning", lambda: write),
    "formatwarning": (warnings, "formatwarning", lambda: write),
    "list": (warnings, "_showwarnmsg_impl", lambda: ListOfUser().append),
    "stream": (sys, "stderr", Stream),
    "subclass of a stream": (sys, "stderr", SubclassOfStream),
    "raw stream": (sys, "stderr", of_raw),
    "stream with a write of its own": (sys, "stderr", of_instance),
    "pattern": (warnings, "filters", lambda: [("always", Pattern(), Warning, None, 0)]),
}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_what_the_program_shows_a_warning_with_runs_in_its_place(hook, monkeypatch):
    owner, name, make = hook
    f = warning(None)
    compiled = frontend.compile(f, backend="eager")
    assert history(compiled) == [["before", "after"]] * 2
    assert count_breaks(compiled) == 0
    monkeypatch.setattr(owner, name, make())
    assert history(compiled) == history(f)


@pytest.mark.parametrize("category", [Made, Written, Dropped])
def test_code_of_a_category_runs_in_its_place(category):
    f = warning(category)
    assert history(frontend.compile(f, backend="eager")) == history(f)


def test_code_of_a_category_that_is_ignored_runs_in_its_place():
    warnings.simplefilter("ignore")
    f = warning(Made)
    assert history(frontend.compile(f, backend="eager")) == history(f)


def test_code_that_a_category_gets_later_runs_in_its_place(monkeypatch):
    f = warning(Plain)
    compiled = frontend.compile(f, backend="eager")
    assert history(compiled) == history(f)
    assert count_breaks(compiled) == 0
    monkeypatch.setattr(Plain, "__init__", Made.__init__, raising=False)
    assert history(compiled) == history(f)


@pytest.mark.parametrize(
    "stream", [None, io.StringIO(), sys.__stderr__, io.TextIOWrapper(io.BytesIO()), of_file()]
)
def test_a_plain_stream_breaks_no_graph(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    compiled = frontend.compile(warning(DeprecationWarning), backend="eager")
    assert history(compiled) == [["before", "after"]] * 2
    assert count_breaks(compiled) == 0


def test_a_stream_that_the_function_itself_puts_there_is_written_to_in_place():
    def f(x):
        before, sys.stderr = sys.stderr, Stream()
        LOG.append("before")
        warnings.warn("text", stacklevel=1)
        LOG.append("after")
        sys.stderr = before
        return x + 1

    assert history(frontend.compile(f, backend="eager")) == history(f)


def test_a_warning_of_an_operation_is_shown_in_its_place(monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", write)
    torch.set_warn_always(True)
    try:
        assert history(frontend.compile(through_library, backend="eager")) == history(through_library)
    finally:
        torch.set_warn_always(False)


def test_an_operation_that_warns_is_in_the_graph_where_nothing_was_changed_before():
    def function(x):
        return torch.nn.functional.mse_loss(x, torch.ones(3, 1))

    with warnings.catch_warnings():
        logging.captureWarnings(True)
        try:
            warnings.simplefilter("ignore")
            compiled = frontend.compile(function, backend="eager", fullgraph=True)
            assert torch.equal(compiled(torch.ones(3)), function(torch.ones(3)))
        finally:
            logging.captureWarnings(False)
