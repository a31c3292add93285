"""What reads a number out of a tensor has no part in the gradients: a leaf that only led to numbers has none, as in eager."""

import pytest
from tests.end_to_end.support import check_source

READS = {
    "item": ["n = s.item()", "return y.sum() * n"],
    "tolist": ["n = s.tolist()", "return y.sum() * n"],
    "int": ["n = int(s)", "return y[:, :n].sum()"],
    "bool": ["n = bool(s)", "return y.sum() * n"],
    "a branch": ["if s: return y.sum()", "return x * 3"],
    "a loop": ["while s: return y.sum()", "return x * 3"],
    "in a function": ["def read(t): return t.item()", "return y.sum() * read(s)"],
    "an error": ["t = w.exp()", "try: t.item()", "except RuntimeError as error: return y, str(error)"],
    "used as well": ["n = s.item()", "return y.sum() * n * s"],
    "and a break": ["s.item()", "print(1)", "return y.sum()"],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", READS)
def test_a_leaf_that_leads_to_numbers_alone_gets_no_gradient(name, backend):
    body = "\n".join(f"    {line}" for line in ("s = w.exp().sum()", "y = x * 2", *READS[name]))
    source = f"""
import torch
def args(): return torch.tensor([[0.5, -2.0]], requires_grad=True), torch.tensor([[0.3, 0.4]], requires_grad=True)
def f(x, w):
{body}
"""
    check_source(source, backend=backend, tolerance=1e-6)
