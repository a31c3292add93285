"""Classes of tensors that have methods of their own in place of those of torch: the trace calls them, and the graph does not
once more."""

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

from framesmith import frontend


class Own(torch.Tensor):
    def __getitem__(self, key):
        return super().__getitem__(key) + 1

    def __setitem__(self, key, value):
        super().__setitem__(key, value + 1)

    def __iadd__(self, other):
        super().__iadd__(other)
        return self

    def __rsub__(self, other):
        return super().__rsub__(other) + 1

    def sin(self):
        return super().sin() * 2

    def add_(self, other):
        return super().add_(other) * 3

    def sum(self):
        return 5

    @property
    def T(self):
        return 3


class OwnWrapper(TwoTensor):
    @staticmethod
    def __tensor_unflatten__(inner, meta, outer_size, outer_stride):
        return OwnWrapper(inner["a"], inner["b"], outer_size, outer_stride)

    def sin(self):
        return super().sin() * 2

    def __mul__(self, other):
        return super().__mul__(other) + 1


def change(x):
    x[0] = 1.0
    x += 1
    return x


PROGRAMS = {
    "item": lambda x: x[0],
    "method": lambda x: x.sin(),
    "function": lambda x: torch.sin(x),
    "by name": lambda x: (torch.Tensor.sin(x), torch.Tensor.__getitem__(x, 1), torch.Tensor.sum(x)),
    "sum": lambda x: (torch.sum(x), x.sum()),
    "in place": lambda x: x.detach().add_(1),
    "reflected": lambda x: (2 - x, torch.ones(3) - x),
    "of results": lambda x: (x * 2)[1] + x[1:].sin(),
    "property": lambda x: (x.T, x + 1),
}
BACKENDS = {
    "eager": "eager",
    "forward": lambda module, _: module.forward,
    "module": lambda module, _: module,
    "aot": "aot_eager",
}


def observe(function, x):
    found = function(x)
    for one in found if isinstance(found, tuple) else (found,):
        if isinstance(one, torch.Tensor) and one.requires_grad:
            torch.sum(one).backward(retain_graph=True)
    return repr(found), repr(x), repr(x.grad)


@pytest.mark.parametrize("backend", list(BACKENDS.values()), ids=list(BACKENDS))
@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))
def test_the_graph_calls_no_method_of_the_class(program, backend):
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    for requires_grad in (False, True, False):
        one, other = (torch.arange(3.0).as_subclass(Own).requires_grad_(requires_grad) for _ in range(2))
        assert observe(compiled, one) == observe(program, other)


@pytest.mark.parametrize("backend", list(BACKENDS.values()), ids=list(BACKENDS))
def test_writes_by_methods_of_the_class(backend):
    one, other = (torch.arange(3.0).as_subclass(Own) for _ in range(2))
    compiled = frontend.compile(change, backend=backend, fullgraph=True)
    assert compiled(one) is one
    assert repr(one) == repr(change(other))


@pytest.mark.parametrize("program", [lambda x: (x * 2).a, lambda x: x.sin().b, lambda x: torch.sin(x).a])
def test_methods_of_a_wrapper_are_not_called_again(program):
    x = OwnWrapper(torch.arange(3.0), torch.arange(3.0))
    for backend in ("eager", "aot_eager"):
        assert torch.equal(frontend.compile(program, backend=backend)(x), program(x))
