"""`compile` takes the future statements of the module that calls it, also where an entry does."""

import pytest
import torch

from framesmith import frontend

TEXT = "def g(a: int): pass"
PROGRAMS = {
    "in the compiled function": "def f(x):\n    code = compile(TEXT, '<text>', 'exec')",
    "by keywords": "def f(x):\n    code = compile(source=TEXT, filename='<text>', mode='exec')",
    "through map": "def f(x):\n    code = list(map(compile, [TEXT], ['<text>'], ['exec']))[0]",
    "in an inlined function": "def made():\n    return compile(TEXT, '<text>', 'exec')\n"
    "def f(x):\n    code = made()",
    "in a function of another module": "def f(x):\n    code = library_compile(TEXT)",
}
REST = """
    names = {}
    exec(code, names)
    return x + 1, names["g"].__annotations__
"""
FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize("here", ["", FUTURE])
@pytest.mark.parametrize("there", ["", FUTURE])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_text_is_compiled_as_in_eager(program, here, there):
    library = execute(there + "def library_compile(text):\n    return compile(text, '<text>', 'exec')\n", {})
    space = execute(here + program + REST, {"TEXT": TEXT, **library})
    f = space["f"]
    expected = f(torch.ones(2))[1]
    assert frontend.compile(f, backend="eager")(torch.ones(2))[1] == expected


def execute(source, names):
    exec(compile(source, "<program>", "exec", dont_inherit=True), names)
    return names
