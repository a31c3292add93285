"""Operations that get one tensor twice, or tensors that share memory, and write to it: they do so in the order in which eager does."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
HEAD = """
import torch
from torch import nn
p, q = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))
def fresh(*parameters):
    for one in parameters: one.grad = torch.full_like(one, 3.0)
optimizer = torch.optim.SGD([{"params": [p]}], lr=0.1, foreach=True)
optimizer.param_groups[0]["params"] = [p, p]
"""
LISTS = {
    "gradients clipped": "fresh(p); return nn.utils.clip_grad_norm_([p, p], 0.1), p.grad",
    "gradients clipped, of several": "fresh(p, q); return nn.utils.clip_grad_norm_([p, q, p], 0.1), p.grad, q.grad",
    "a step": "fresh(p); optimizer.step(); return p.detach().clone()",
    "an average": "torch._foreach_lerp_([a, a], [b, b], 0.1); return a + b",
    "added": "torch._foreach_add_([a, b, a], 1); return a + b",
    "by scalars": "torch._foreach_mul_([a, b, a], [1.0, 2.0, 3.0]); return a + b",
    "made inside": "y = a * 2; torch._foreach_add_((y, y), 1); return y",
    "views": "torch._foreach_add_([a, a[:]], 1); return a + 0",
    "views that overlap": "torch._foreach_mul_([a[:2], a[1:]], 2); return a + 0",
    "views side by side": "torch._foreach_mul_([a[:1], a[1:]], 2); return a + 0",
    "exchanged": "torch._foreach_add_([a, b], [b, a]); return a - b",
    "copied crosswise": "torch._foreach_copy_([a, b], [b, a]); return a - b",
    "itself": "torch._foreach_add_([a, b], [a, b]); return a - b",
    "by an item of one": "torch._foreach_mul_([a, b], a[1]); return a + b",
    "statistics": "x = torch.arange(12.0).reshape(4, 3); return nn.functional.batch_norm(x, a, a, training=True), a + 0",
}


@BACKENDS
@pytest.mark.parametrize("name", LISTS)
def test_a_tensor_that_stands_twice_in_a_list_is_written_twice(name, backend):
    source = f"{HEAD}def f(a, b):\n    {LISTS[name]}\ndef args(): return torch.arange(3.0) + 1, torch.arange(3.0) * 2 + 5\n"
    check_source(source, backend=backend, tolerance=1e-6)


VIEWS = {
    "an element": "return a[0]",
    "a part": "return a[:2]",
    "another part": "return a[1:]",
    "a diagonal": "return a.diagonal()",
    "turned": "return a.t(), b + 1",
    "flat": "return a.flatten(), a.view(-1, 2)",
    "one more dimension": "return a[..., None]",
    "the input": "return a",
    "of the written one": "return b[1:]",
}


@BACKENDS
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_one_of_two_overlapping_inputs_lies_where_it_lies_eagerly(name, backend):
    source = f"""
import torch
def f(a, b):
    b.mul_(2)
    {VIEWS[name]}
def args():
    whole = torch.arange(24.0).reshape(6, 4)
    return whole[1:4], whole[2:5]
"""
    check_source(source, backend=backend)


TURNED = {
    "cumsum_": "x.t_(); x.cumsum_(0)",
    "scatter_": "x.transpose_(0, 1); x.scatter_(0, torch.zeros(1, 2, dtype=torch.long), 2.0)",
    "tril_": "x.t_(); x.tril_(); x.cumprod_(1)",
    "fill_diagonal_": "x.t_(); x.fill_diagonal_(3.0)",
    "masked_scatter_": "x.swapaxes_(0, 1); x.masked_scatter_(x > 2, torch.arange(6.0))",
    "before": "x.cumsum_(0); x.t_()",
    "a product": "x.t_(); x.mul_(2)",
    "a result": "x.t_(); y = x * 2; x.index_fill_(0, torch.tensor([1]), 7.0); return y",
}


@BACKENDS
@pytest.mark.parametrize("name", TURNED)
def test_an_input_that_is_turned_and_written_to_keeps_its_memory(name, backend):
    source = f"""
import torch
def f(x, flat):
    {TURNED[name]}
def args():
    x = torch.arange(6.0).reshape(2, 3)
    return x, x.view(-1)
def change(x, flat): pass
"""
    check_source(source, backend=backend)


OVERWRITTEN = {
    "copied": "self.last.copy_(loss)",
    "stored": "self.last[...] = loss",
    "zeroed and added": "self.last.zero_(); self.last.add_(loss)",
    "filled": "self.last.fill_(loss)",
    "rows of a weight": "self.rows.copy_(self.linear.weight[torch.tensor([0, 1])]); self.rows[:] = self.linear.weight[1:]",
}


@BACKENDS
@pytest.mark.parametrize("name", OVERWRITTEN)
def test_a_buffer_that_each_step_overwrites_forgets_the_step_before(name, backend):
    source = f"""
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("last", torch.zeros(()))
        self.register_buffer("rows", torch.zeros(2, 3))
    def forward(self, x):
        loss = (self.linear(x) ** 2).mean()
        {OVERWRITTEN[name]}
        return loss
model = Model()
def step(x):
    return model(x)
f = step
def args(): return (torch.arange(6.0).reshape(2, 3),)
"""
    check_source(source, backend=backend, calls=4, backward=True, tolerance=1e-6)


UNCOUNTED = {
    "a list": "torch._foreach_mul_([x], 0.5); return y.view(2, 3)",
    "a part of a list": "torch._foreach_add_([x[1:3]], 1); return y[1:]",
    "data": "x.data.mul_(2); return y.view(3, 2)",
    "data of the returned one": "y.data.add_(1); return x.unsqueeze(0)",
    "strides of its own": "v = x.as_strided((2,), (1,)); torch._foreach_add_([y], 1.0); return v",
    "both": "y.mul_(2); x.mul_(3)",
}


@BACKENDS
@pytest.mark.parametrize("has_history", [False, True])
@pytest.mark.parametrize("name", UNCOUNTED)
def test_writes_that_no_version_counts_are_seen_in_overlapping_inputs(name, has_history, backend):
    source = f"""
import torch
def f(whole, x, y):
    {UNCOUNTED[name]}
def args():
    whole = torch.arange(12.0)
    if {has_history}:
        whole = whole.requires_grad_() * 1
    return whole, whole[:6], whole[3:9]
"""
    # the history that the arguments share is gone through once
    check_source(source, backend=backend, calls=1 if has_history else 3)


DETACHED = {
    "added": "v = x.detach(); v.add_(w); return v",
    "data": "v = x.data; v.mul_(w); return v",
    "a part": "v = x.detach()[:2]; v.add_(w.sum()); return v",
    "a view": "v = x[:2]; v.add_(w.sum()); return v, x",
    "computed": "v = x.detach(); v.add_(w); return v * 1",
}


@BACKENDS
@pytest.mark.parametrize("name", DETACHED)
def test_a_result_over_the_memory_of_an_input_keeps_its_own_history(name, backend):
    source = f"""
import torch
w = torch.ones(3, requires_grad=True)
def f(x):
    {DETACHED[name]}
def args(): return (torch.arange(3.0),)
"""
    check_source(source, backend=backend, backward=True, calls=1)
