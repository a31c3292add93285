"""What was compiled follows its original when the original is given other code, and serves again when it gets the old one."""

import warnings

import pytest
import torch
from tests.end_to_end.perturbed import check_changes

from framesmith import frontend
from framesmith.frontend.torch_settings import forget_warnings

FUNCTIONS = """
def other(x, k=2): return x - k, 'other'
def more(x, k=2, *rest): return x - k, rest
def renamed(y, k=2): return y * k
def yields(x, k=2): yield x
def f(x, k=2): return x + k, X
kept = f
old = f.__code__
def code(): kept.__code__ = other.__code__
def shape(): kept.__code__ = more.__code__
def names(): kept.__code__ = renamed.__code__
def generator(): kept.__code__ = yields.__code__
def back(): kept.__code__ = old
def nothing(): pass
args = lambda: (X,)
changes = [nothing, %s, nothing, nothing, back, nothing]
"""


@pytest.mark.parametrize("change", ["code", "names"])
def test_a_function_follows_its_code(change):
    check_changes(FUNCTIONS % change, breaks=0)


@pytest.mark.parametrize("change", ["shape", "generator"])
def test_code_of_another_kind_runs_as_it_is(change):
    forget_warnings()
    with pytest.warns(UserWarning, match="f was replaced after compile"):
        check_changes(FUNCTIONS % change)


@pytest.mark.parametrize("name", ["__defaults__", "__kwdefaults__"])
def test_new_defaults_are_said_and_hold_from_the_second_call(name):
    def f(x, k=2, *, j=3):
        return x * k + j

    compiled = frontend.compile(f, backend="eager")
    assert compiled(torch.ones(1)).item() == 5
    setattr(f, name, (4,) if name == "__defaults__" else {"j": 5})
    with pytest.warns(UserWarning, match=f"{name} of .*f was replaced after compile"):
        compiled(torch.ones(1))
    assert compiled(torch.ones(1)).item() == f(torch.ones(1)).item() == 7


CALLS = """
class Base(torch.nn.Module):
    def __init__(s):
        super().__init__()
        s.l = torch.nn.Linear(2, 2)
    def forward(s, x): return s.l(x)
class M(Base): pass
class C:
    v = 3
    def __call__(s, x): return x * s.v
log = []
before = torch.nn.Module._call_impl
def replaced(s, *args, **kwargs):
    log.append('called')
    return before(s, *args, **kwargs), 1
def instead(s, x): return x - s.v, 2
def once(*args, **kwargs): return 5
first = C.__call__
old = first.__code__
torch.manual_seed(0)
m, c = M(), C()
def in_class(): M._call_impl = replaced
def in_base(): Base._call_impl = replaced
def not_in_class(): del M._call_impl
def not_in_base(): del Base._call_impl
def in_instance(): m._call_impl = once
def not_in_instance(): del m._call_impl
def call(): C.__call__ = instead
def call_code(): first.__code__ = instead.__code__
def no_call(): C.__call__ = first
def no_code(): first.__code__ = old
def nothing(): pass
args = lambda: (X,)
f = %s
changes = [nothing, %s, nothing, %s, nothing]
"""


@pytest.mark.parametrize(
    ("function", "change", "back"),
    [
        ("m", "in_class", "not_in_class"),
        ("m", "in_base", "not_in_base"),
        ("m", "in_instance", "not_in_instance"),
        ("c", "call", "no_call"),
        ("c", "call_code", "no_code"),
    ],
)
def test_a_module_and_an_object_follow_what_a_call_of_them_finds(function, change, back):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_changes(CALLS % (function, change, back))
