"""`isinstance` with `nn.Parameter` and `nn.Buffer`, which any tensor can be by an attribute."""

import pytest
import torch
from torch import nn

from framesmith import frontend


class Tagged(torch.Tensor):
    """Inherits the default override."""


class Computed(torch.Tensor):
    @property
    def _is_param(self):
        return self.dim() == 1


class OfClass(torch.Tensor):
    _is_param = _is_buffer = True


class Found(torch.Tensor):
    def __getattr__(self, name):
        if name == "_is_buffer":
            return "yes"
        raise AttributeError(name)


class Special(nn.Parameter):
    """A class derived from it asks the type only."""


class SpecialBuffer(nn.Buffer):
    """The same for buffers; making one gives a plain tensor with the attribute."""


class NoTensor:
    _is_param = _is_buffer = True


class Posing:
    @property
    def __class__(self):
        return nn.Parameter


def marked(make, **marks):
    def build():
        tensor = make()
        for name, value in marks.items():
            setattr(tensor, name, value)
        return tensor

    return build


def plain():
    return torch.ones(2)


def tagged():
    return plain().as_subclass(Tagged)


VALUES = [
    plain,
    tagged,
    lambda: nn.Parameter(plain()),
    lambda: nn.Parameter(tagged()),
    lambda: nn.Buffer(plain()),
    lambda: Special(plain()),
    lambda: SpecialBuffer(plain()),
    lambda: plain().as_subclass(Computed),
    lambda: plain().as_subclass(OfClass),
    lambda: plain().as_subclass(Found),
    NoTensor,
    Posing,
    marked(lambda: nn.Buffer(plain()), _is_buffer=False),
    marked(lambda: nn.Parameter(plain()), _is_param=False),
    *(marked(make, _is_param=value) for make in (plain, tagged) for value in (True, False, 0, "x", [], None)),
    *(marked(make, _is_buffer=value) for make in (plain, tagged) for value in (True, False)),
]


def kinds(x):
    classes = nn.Parameter, nn.Buffer, Special, SpecialBuffer, (int, nn.Parameter)
    return [isinstance(x, cls) for cls in classes]


@pytest.mark.parametrize("make", VALUES)
def test_the_mark_counts_by_its_truth(make):
    compiled = frontend.compile(kinds, backend="eager")
    for _ in range(2):
        assert compiled(make()) == kinds(make())


def test_marks_that_change_between_calls():
    compiled = frontend.compile(kinds, backend="eager")
    x = plain()
    for value in (True, False, True, 0, 1, None):
        x._is_param = value
        assert compiled(x) == kinds(x)
    del x._is_param
    assert compiled(x) == kinds(x)


def test_marks_that_the_trace_sets():
    def run(x):
        y = x + 1
        seen = [kinds(y)]
        for value in (True, False):
            y._is_param = y._is_buffer = value
            seen.append(kinds(y))
        del y._is_param
        return [*seen, kinds(y)]

    assert frontend.compile(run, backend="eager", fullgraph=True)(plain()) == run(plain())


def test_what_a_module_registers_follows_the_mark():
    def run(x, is_param, is_buffer):
        module = nn.Module()
        y = x * 1
        y._is_param, y._is_buffer, y.persistent = is_param, is_buffer, True
        module.y = y
        return list(module._parameters), list(module._buffers), "y" in vars(module)

    compiled = frontend.compile(run, backend="eager")
    for marks in ((True, False), (False, True), (False, False)):
        assert compiled(plain(), *marks) == run(plain(), *marks)
