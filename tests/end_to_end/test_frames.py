"""What a program sees of its own frames: debuggers, `locals()`, tracebacks, hooks that run when `forward` raises."""

import sys
import traceback

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

HEAD = """
import inspect, sys, torch, traceback
log = []
def args(): return [torch.ones(2)]
"""

READERS = {
    "locals": "log.append(sorted(locals()))",
    "the frame": "log.append(sorted(sys._getframe().f_locals))",
    "the current frame": "log.append(inspect.currentframe().f_code.co_name)",
    "the stack": "log.append(inspect.stack()[0].function)",
    "the extracted stack": "log.append(traceback.extract_stack()[-1].name)",
}


@pytest.mark.parametrize("name", READERS)
def test_a_function_that_looks_at_its_frame_sees_its_variables(name):
    check_source(HEAD + f"def f(x):\n    a, unused = x + 1, 3\n    {READERS[name]}\n    return a")


@pytest.mark.parametrize("name", READERS)
def test_an_inlined_function_that_looks_at_its_frame_sees_its_variables(name):
    inner = f"def inner(y):\n    a, unused = y + 1, 3\n    {READERS[name]}\n    return a\n"
    check_source(HEAD + inner + "def f(x):\n    b = x * 2\n    return inner(b)")


def test_an_inlined_function_sees_the_variables_of_its_caller():
    inner = "def inner(y):\n    log.append(sorted(sys._getframe(1).f_locals))\n    return y\n"
    check_source(HEAD + inner + "def f(x):\n    b, unused = x * 2, 3\n    return inner(b)")


HOOK = """
def hook(*given):
    frame = sys._getframe(1)
    log.append((frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals)))
def stop(x):
    a, unused = x + 1, 3
    {}
    return a
def f(x):
    before, sys.breakpointhook = sys.breakpointhook, hook
    try: return call(x)
    finally: sys.breakpointhook = before
"""


@pytest.mark.parametrize("text", ["breakpoint()", "sys.breakpointhook()"])
def test_a_debugger_sees_the_variables_by_name(text):
    compiled = (
        "from framesmith import frontend\ncall = frontend.disable(frontend.compile(stop, backend='eager'))"
    )
    check_source(HEAD + HOOK.format(text) + compiled)
    check_source(HEAD + HOOK.format(text) + "call = stop")


HOOKED = """
class Module(torch.nn.Module):
    def forward(self, x, fail):
        log.append("forward")
        if fail == 1: raise ValueError("no")
        return torch.linalg.inv(x) if fail == 2 else x * 2
def note(name):
    def hook(module, *given):
        log.append((name, str(given[-1])))
        if name == "raises": raise KeyError(name)
    return hook
turn = [0]
def args(): return [torch.zeros(2, 2)]
module = Module()
def f(x):
    turn[0] += 1
    try: return module(x, turn[0] % 3)
    finally: log.append("after")
"""
REGISTERED = {
    "always": "module.register_forward_hook(note('a'), always_call=True)",
    "with keywords": "module.register_forward_hook(note('k'), with_kwargs=True, always_call=True)",
    "one of two": "module.register_forward_hook(note('a'))\nmodule.register_forward_hook(note('b'), always_call=True)",
    "a hook raises": """
module.register_forward_hook(note('raises'))
module.register_forward_hook(note('b'), always_call=True)
""",
    "a pre-hook": "module.register_forward_pre_hook(note('p'))\nmodule.register_forward_hook(note('a'), always_call=True)",
    "none": "module.register_forward_hook(note('a'))",
}


@pytest.mark.parametrize("name", REGISTERED)
def test_hooks_run_when_forward_raises(name):
    check_source(HEAD + HOOKED + REGISTERED[name], calls=4, backward=False)


def test_hooks_of_all_modules_run_when_forward_raises():
    wrapped = HOOKED.replace("def f(x):", "def call(x):")
    source = """
def f(x):
    handle = torch.nn.modules.module.register_module_forward_hook(note("all"), always_call=True)
    try: return call(x)
    finally: handle.remove()
"""
    check_source(HEAD + wrapped + source, calls=4, backward=False)


class made_original:  # noqa: N801  # a name that ends as one of ours did
    """Anything."""


def test_no_name_of_the_users_hides_the_frame_of_the_function():
    def f(x, kept):
        kept.append(made_original())
        return torch.linalg.inv(x)

    compiled = frontend.compile(f, backend="eager")
    for _ in range(3):
        with pytest.raises(RuntimeError) as caught:
            compiled(torch.zeros(2, 2), [])
        assert [entry.name for entry in traceback.extract_tb(caught.tb)][1:] == ["f"]


def test_a_debugger_shows_the_user_s_function_once():
    seen = []

    @frontend.disable
    def note():
        frame = sys._getframe(1)
        while frame is not None:
            seen.append(frame.f_code.co_name)
            frame = frame.f_back

    def looked_at(x):
        y = x + 1
        note()
        return y * 2

    compiled = frontend.compile(looked_at, backend="eager")
    for calls in (1, 2, 3):
        assert compiled(torch.ones(2)).tolist() == [4.0, 4.0]
        assert seen.count("looked_at") == calls
