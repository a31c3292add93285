"""`f(x, **{})` where torch asks `__torch_function__`: C code tells an empty dict of keywords from none."""

import pytest
from tests.end_to_end.support import check_source

KEYWORDS = """
import torch
from torch.overrides import TorchFunctionMode
seen, none = [], {}
class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append((func.__name__, kwargs)); return func(*args, **(kwargs or {}))
class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append((func.__name__, kwargs)); return super().__torch_function__(func, types, args, kwargs or {})
def call(function, *args, **kwargs): return function(*args, **kwargs)
"""
CALLS = (
    "torch.sin(x, **none)", "x.sin(**none)", "x.add(1, **none)", "torch.Tensor.add(x, 1, **none)", "torch.add(*(x, 1), **none)",
    "torch.add(*(x, 1))", "torch.nn.functional.relu(x, **none)", "torch.nn.functional.linear(x, x, **none)", "call(torch.sin, x)",
    "call(x.add, 1)", "call(torch.add, x, 1, alpha=2)", "x.sum(**none)", "torch.cat((x, x), **none)",
)  # fmt: skip


@pytest.mark.parametrize("given", ["x", "x.as_subclass(Sub)"])
@pytest.mark.parametrize("call", CALLS)
def test_an_empty_dict_of_keywords_is_passed_on_as_c_code_does(call, given):
    check_source(
        f"{KEYWORDS}def args(): return [torch.ones(2, 2)]\ndef f(x):\n    x = {given}\n    with Mode(): {call}\n    {call}\n    return len(seen)\n",
        calls=2,
    )
