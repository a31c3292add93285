"""What a function under a transform appends to a container, and what it takes out of a tensor by a slice of ints."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
table = torch.arange(24.0).reshape(2, 3, 4)
weight = torch.ones(4, requires_grad=True)
noted, named, seen = [], {{}}, set()
count = 0
def note(row):
    noted.append(tuple(row.shape))
    return row * 2
def name(row):
    named[len(named)] = weight
    return (row * weight).sum()
def see(row):
    seen.add(row.dim())
    noted.extend([count, "row"])
    return row.sin().sum()
def leak(row):
    noted.append(row)
    return row.sum()
def leak_inner(row):
    noted.append([row * 2])
    return row.sum()
def counted(row):
    global count
    count += 1
    return row.sum() * count
def read(row):
    noted.append(1)
    return row.sum() * len(noted)
def fail(row):
    noted.append("before")
    raise ValueError("no")
def f(x):
    global count
    count += 1
    i = torch.tensor([1, 0, 1])
    result = {call}
    return result, len(noted), list(noted) if all(not isinstance(n, (torch.Tensor, list)) for n in noted) else None, len(named), sorted(seen)
def args():
    torch.manual_seed(3)
    return (torch.randn(3, 4),)
"""
CAPTURED = {
    "a list under vmap": "torch.vmap(note)(x)",
    "a list under grad": "torch.func.grad(lambda y: note(y).sum())(x)",
    "a dict with a tensor from elsewhere": "torch.vmap(name)(x)",
    "a set": "torch.vmap(see)(x)",
    "a list under jacrev": "torch.func.jacrev(note)(x[0])",
    "a list that is read": "torch.vmap(read)(x)",
    "a list under vjp": "torch.func.vjp(note, x)[0]",
    "a subscript": "torch.vmap(lambda k: table[k])(i)",
    "a subscript and a number": "torch.vmap(lambda k: table[k, 0])(i)",
    "a subscript behind a slice": "torch.vmap(lambda k: table[:, k])(i)",
    "subscripts around a slice": "torch.vmap(lambda k: table[k, :, k])(i)",
    "a subscript before an ellipsis": "torch.vmap(lambda k: table[k, ..., None])(i)",
    "a computed subscript": "torch.vmap(lambda k: table[(k + 1) % 2, k] * 2)(i)",
    "a subscript of a slice": "torch.vmap(lambda row, k: row[k])(x, i)",
    "a gradient through a subscript": "torch.vmap(lambda k: weight[k] * 2)(i)",
}
NATIVE = {
    "a set under vmap of grad": "torch.vmap(torch.func.grad(see))(x)",
    "an operation that fails on the data": "torch.vmap(lambda k: (noted.append(1), table[k])[1])(i * count)",
    "a tensor of the function": "torch.vmap(leak)(x), noted.clear()",
    "a tensor in a list": "torch.func.grad(leak_inner)(x), noted.clear()",
    "a global": "torch.vmap(counted)(x)",
    "an exception": "torch.vmap(fail)(x)",
    "a subscript beside an index": "torch.vmap(lambda k: table[k, :, torch.tensor([0, 1])])(i)",
    "a number of a slice": "torch.vmap(lambda k: table[k.item()])(i)",
    "a slice up to a number": "torch.vmap(lambda k: table[k:])(i)",
    "a mask": "torch.vmap(lambda m: table[m])(i > 0)",
    "a subscript of an outer map": "torch.vmap(lambda k: torch.vmap(lambda row: row[k])(x))(i)",
}


@pytest.mark.parametrize("name", CAPTURED)
def test_the_transform_is_captured(name):
    check_source(PROGRAM.format(call=CAPTURED[name]), breaks=0, calls=4, tolerance=1e-6)


@pytest.mark.parametrize("name", NATIVE)
def test_what_no_graph_holds_runs_natively(name):
    assert check_source(PROGRAM.format(call=NATIVE[name]), backward=False).breaks
