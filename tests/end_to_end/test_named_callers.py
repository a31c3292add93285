"""Warnings and log records that a compiled function causes name the file, the line and the module that they name in eager."""

import linecache
import logging
import sys
import traceback
import warnings

import pytest
import torch

from framesmith import frontend

LIBRARY = """
import warnings, logging
log = logging.getLogger('framesmith.named')
def direct(): warnings.warn('direct')
def above(): warnings.warn('above', DeprecationWarning, stacklevel=2)
def twice_above(): warnings.warn('twice above', stacklevel=3)
def between(): twice_above()
def logs(): log.warning('logs %s', 1)
def says(): log.warning('says', stacklevel=2)
"""
PROGRAM = """
import warnings, library
def f(x):
    y = x + 1
    {call}
    return y * 2
def broken(x):
    y = x + 1
    print(end='')
    {call}
    return y * 2
def inlined(x):
    return f(x) + 1
def calls(g, x):
    return g(x)
"""
MODULES = """
import functools, library, torch, warnings
class Plain(torch.nn.Module):
    def forward(self, x):
        {call}
        return x + 1
class Broken(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        print(end='')
        {call}
        return x + 1
class Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x) * 2
class Lazy:
    @functools.cached_property
    def value(self):
        {call}
        return 2
plain, broken = Plain(), Broken()
nested, sequence = Outer(Outer(Broken())), torch.nn.Sequential(Plain(), Broken())
hooked = Outer(Plain())
hooked.register_forward_hook(lambda module, args, result: None)
def f(x):
    return {module}(x) * 2
def cached(x):
    return x * Lazy().value
def calls(g, x):
    return g(x)
"""
CALLS = [
    "warnings.warn('own')",
    "warnings.warn('caller', stacklevel=2)",
    "warnings.warn('beyond', stacklevel=3)",
]
CALLS += [f"library.{name}()" for name in ("direct", "above", "between", "logs", "says")]


class Kept(logging.Handler):
    def __init__(self, found):
        super().__init__()
        self.found = found

    def emit(self, record):
        self.found.append((record.pathname, record.lineno, record.funcName, record.getMessage()))


def module(name, source):
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space = {"__name__": name}
    exec(compile(source, filename, "exec"), space)
    return space


def named(program, function, is_compiled, monkeypatch):
    """What two calls name, and which modules have a registry of warnings afterwards."""
    library = module("library", LIBRARY)
    found = type(logging)("library")
    found.__dict__.update(library)
    for value in [one for one in library.values() if type(one).__name__ == "function"]:
        value.__globals__.update(__name__="library")
    monkeypatch.setitem(sys.modules, "library", found)
    space = module("program", program)
    called = frontend.compile(space[function], backend="eager") if is_compiled else space[function]
    kept = []
    library["log"].handlers[:] = [Kept(kept)]
    library["log"].propagate = False
    library["log"].isEnabledFor(
        logging.WARNING
    )  # the first question of all takes a lock, which is another break
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            space["calls"](called, torch.ones(2))
        kept += [(str(one.message), one.category, one.filename, one.lineno) for one in caught]
    registries = [
        name for name, held in (("library", library), ("program", space)) if "__warningregistry__" in held
    ]
    return kept, registries


@pytest.mark.parametrize("function", ["f", "broken", "inlined"])
@pytest.mark.parametrize("call", CALLS)
def test_a_message_names_the_line_of_eager(call, function, monkeypatch):
    program = PROGRAM.format(call=call)
    eager = named(program, function, False, monkeypatch)
    assert named(program, function, True, monkeypatch) == eager


@pytest.mark.parametrize("module", ["plain", "broken", "nested", "sequence", "hooked", "plain.forward"])
@pytest.mark.parametrize(
    "call", ["library.says()", *(f"warnings.warn('old', stacklevel={n})" for n in range(2, 8))]
)
def test_the_frames_of_a_module_count(call, module, monkeypatch):
    program = MODULES.format(call=call, module=module)
    # from one line, which the levels may reach
    eager, compiled = (named(program, "f", is_compiled, monkeypatch) for is_compiled in (False, True))
    assert compiled == eager


@pytest.mark.parametrize(
    "call", ["library.says()", *(f"warnings.warn('old', stacklevel={n})" for n in (2, 3, 4))]
)
def test_the_frame_of_a_cached_property_counts(call, monkeypatch):
    program = MODULES.format(call=call, module="plain")
    eager = named(program, "cached", False, monkeypatch)
    assert named(program, "cached", True, monkeypatch) == eager


def test_a_warning_that_is_an_error_names_each_function_once():
    library, space = (
        module("library", LIBRARY),
        module("program", PROGRAM.replace(", library", "").format(call="between()")),
    )
    space["between"] = library["between"]
    shown = []
    for function in (space["f"], frontend.compile(space["f"], backend="eager")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning) as caught:
                function(torch.ones(2))
        shown.append([(one.name, one.lineno) for one in traceback.extract_tb(caught.value.__traceback__)][1:])
    assert shown[0] == shown[1]
