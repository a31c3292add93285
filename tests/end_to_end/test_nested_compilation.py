"""A compiled function that calls a compiled function: a call of the inner one is a call of its original."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend import api

# what torch.compile compiles has globals of its own here: it writes into them
HEAD = """
import functools
import torch
from framesmith import frontend
made = frontend.compile(backend="eager")
def args(): return [torch.ones(3)]
class Double(torch.nn.Module):
    def forward(self, x): return x * 2
@made
def inner(x, k=2): return x * k + 1
"""

INLINED = {
    "function": "def f(x): return inner(x) + inner(x, 3) + inner(x=x, k=4)",
    "closure": """
def maker(k):
    @made
    def g(x): return x * k
    return g
g2, g3 = maker(2), maker(3)
def f(x): return g2(x) + g3(x)
""",
    "method": """
class A:
    n = 4
    @made
    def go(self, x): return x + self.n
a = A()
def f(x): return a.go(x)
""",
    "bound method": """
class A:
    def go(self, x): return x + 1
bound = made(A().go)
def f(x): return bound(x)
""",
    "module": "module = made(Double())\ndef f(x): return module(x) + 1",
    "partial": "part = functools.partial(inner, k=5)\ndef f(x): return part(x)",
    "container": "class T: table = {'f': inner}\ndef f(x): return T.table['f'](x)",
    "callback": "def app(g, x): return g(x)\ndef f(x): return app(inner, x)",
    "twice compiled": "again = made(made(inner))\ndef f(x): return again(x)",
    "other backend": "other = frontend.compile(lambda x: x + 1, backend='aot_eager')\ndef f(x): return other(x)",
    "disabled by option": "off = frontend.compile(inner, disable=True)\ndef f(x): return off(x)",
    "wrapped by the user": """
@functools.wraps(inner)
def wrapper(x): return inner(x) * 10
def f(x): return wrapper(x)
""",
    "torch.compile": "theirs = torch.compile(eval('lambda x: x + 5', {}), backend='eager')\ndef f(x): return theirs(x) * 2",
    "ours in theirs": """
theirs = torch.compile(eval('lambda x: inner(x) - 1', {'inner': inner}), backend='eager')
def f(x): return theirs(x)
""",
    "mutual recursion": """
@made
def even(n, x): return x if n == 0 else odd(n - 1, x + 1)
@made
def odd(n, x): return x * 2 if n == 0 else even(n - 1, x + 1)
def f(x): return even(5, x)
""",
}


@pytest.mark.parametrize("name", INLINED)
def test_a_compiled_callee_is_inlined(name):
    report = check_source(HEAD + INLINED[name], breaks=0, graphs=1)
    assert not report.recompiles


def test_a_module_compiled_by_its_own_method_is_inlined():
    check_source(
        HEAD + "m = torch.nn.ReLU()\nm.compile(backend='eager')\ndef f(x): return m(x) + 1", breaks=0
    )


def test_a_module_that_torch_wrapped_is_called_natively():
    check_source(HEAD + "m = torch.compile(torch.nn.ReLU(), backend='eager')\ndef f(x): return m(x) + 1")


def test_a_compiled_function_that_is_disabled_runs_natively():
    check_source(HEAD + "off = frontend.disable(inner)\ndef f(x): return off(x) + 1", breaks=1)


@pytest.mark.parametrize(
    "body",
    ["g = made(lambda y: y + 1)", "g = frontend.compile(lambda y: y + 1, backend='eager')"],
)
def test_a_function_compiled_in_a_compiled_function_does_not_recompile(body):
    report = check_source(HEAD + f"def f(x):\n    {body}\n    return g(x) * 2", calls=5)
    assert not report.recompiles and len(report.breaks) == 1


def test_the_original_is_guarded():
    source = """
pick, turn = (inner, made(lambda x: x - 1)), [0]
def f(x):
    turn[0] += 1
    return pick[turn[0] % 2](x)
class U: g = inner
def f2(x):
    result = T.g(x)
    T.g = pick[1] if T.g is inner else inner
    return result
"""
    check_source(HEAD + source, calls=4)


def test_fullgraph_of_the_inner_function_holds_inside_of_the_outer_one():
    def broken(x):
        frontend.graph_break()
        return x + 1

    inner = frontend.compile(broken, backend="eager", fullgraph=True)
    outer = frontend.compile(lambda x: inner(x) * 2, backend="eager")
    with pytest.raises(frontend.FullGraphError):
        outer(torch.ones(2))


def test_the_outer_function_may_need_one_graph():
    inner = frontend.compile(lambda x: x + 1, backend="eager")
    outer = frontend.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)
    assert torch.equal(outer(torch.ones(2)), torch.full((2,), 4.0))


def test_torch_compile_takes_the_original_of_ours():
    inner = frontend.compile(lambda x: x + 1, backend="eager")
    module = frontend.compile(torch.nn.ReLU(), backend="eager")
    outer = torch.compile(lambda x: module(inner(x)) * 2, backend="eager")
    assert torch.equal(outer(torch.ones(2)), torch.full((2,), 4.0))


def test_our_slow_path_is_hidden_from_torchdynamo():
    inner = frontend.compile(lambda x: x + 1, backend="eager")

    def outer(x):
        torch._dynamo.graph_break()
        return list(map(inner, [x]))[0]

    compiled = torch.compile(outer, backend="eager")
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    session = api.session_of(inner)
    assert session is not None and not session.history.breaks
