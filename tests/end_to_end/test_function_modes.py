"""Torch-function modes that a program enters itself: each call of torch in their block asks them, and the graph does not."""

import warnings
from contextlib import ExitStack, contextmanager, suppress

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode, resolve_name

from framesmith import frontend
from framesmith.variables.torch_functions.folded import QUESTIONS


class Noting(TorchFunctionMode):
    """Notes what it is asked, and changes the results of sums."""

    def __init__(self, name="", declines=()):
        self.name, self.declines = name, declines
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((self.name, getattr(func, "__name__", "?"), types, len(args), kwargs))
        if func in self.declines:
            return NotImplemented
        result = func(*args, **(kwargs or {}))
        return result + 1 if func in (torch.add, torch.Tensor.add) else result


class Tagged(torch.Tensor):
    """Inherits the default override."""


class Counted(torch.Tensor):
    """Has an override of its own."""

    asked = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Counted.asked += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def names(mode):
    return [call[:2] for call in mode.calls]


def operators(x):
    with Noting() as mode:
        y = x + 1
        z = -(2 - y) * x / 3
        z += 1
        w = (z > 0) & (z == z)
        v = abs(x) ** 2 // 1 % 3
        u = x @ x.t()
    return y, z, w, v, u, mode.calls


def fields(x):
    with Noting() as mode:
        found = x.shape, x.dtype, x.requires_grad, x.device.type, x.ndim, x.T, x.is_leaf, x.grad
    return *found, mode.calls


def methods(x):
    with Noting() as mode:
        y = x.sin().clone()
        y.add_(1).mul_(2)
        n = y.size(0) + y.dim() + y.numel()
        y = y.view(-1).sum(dim=0, keepdim=True)
    return y, n, names(mode)


def subscripts(x):
    with Noting() as mode:
        y = x.clone()
        z = y[0], y[:, 1], y[..., None], y[torch.tensor([1, 0])]
        y[0] = 5.0
    return y, z, names(mode)


def factories(x):
    with Noting() as mode:
        y = torch.zeros(2, 3) + torch.ones_like(x) + torch.full((3,), 2.0) + torch.arange(3)
        y = y + x.new_ones(3) + torch.tensor([1.0, 2.0, 3.0]) + torch.empty(3).fill_(1)
    return y, mode.calls


def functionals(x):
    with Noting() as mode:
        y = F.relu(x) + F.softmax(x, -1) + F.gelu(x) + F.layer_norm(x, (3,))
        y = F.dropout(y, 0.5, training=False) + torch.cat([x, y]).sum()
        z = torch.stack([y, y]).split(1), torch.einsum("ij,kj->ik", x, y), torch.norm(y)
    return y, z, mode.calls


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(6))

    def forward(self, x):
        x = self.norm(self.first(x).relu())
        for layer in self.layers:
            x = x + layer(x).tanh()
        return self.last(x)


torch.manual_seed(0)
MODEL = Model()


def modules(x):
    with Noting() as mode:
        y = MODEL(x)
    return y, names(mode)


def nested(x):
    notes = []
    with Noting("outer") as outer:
        y = x + 1
        with Noting("inner") as inner:
            y = y.add(2)
            y = y.sin()
        y = y * 2
    notes += outer.calls + inner.calls
    return y, notes


def same_mode_twice(x):
    mode = Noting()
    with mode:
        with mode:
            y = x.add(1)
        y = y.add(1)
    with mode:
        y = y.add(1)
    return y.add(1), names(mode)


def by_a_stack_of_blocks(x):
    with ExitStack() as stack:
        modes = [stack.enter_context(Noting(str(index))) for index in range(3)]
        y = torch.add(x, 1)
    return y, [names(mode) for mode in modes]


def with_subclasses(x):
    Counted.asked = 0
    with Noting() as mode:
        y = x.as_subclass(Counted) + 1
        z = torch.add(y, x)
    return y * 2, z, Counted.asked, names(mode)


def where_the_mode_declines_for_a_subclass(x):
    Counted.asked = 0
    y = x.as_subclass(Counted)
    with Noting(declines=(torch.mul,)) as mode:
        z = torch.mul(y, 2)
    return z, Counted.asked, mode.calls


class Redirecting(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.zeros:
            return torch.ones(*args, **kwargs)
        if func is torch.Tensor.sin or func is torch.sin:
            return args[0].cos()
        with self:
            return torch.neg(*args) if func is torch.abs else super_call(func, args, kwargs)


def super_call(func, args, kwargs):
    with torch._C.DisableTorchFunction():
        return func(*args, **kwargs)


def redirections(x):
    with Redirecting():
        return torch.zeros(3) + x.sin() + torch.sin(x) * x.sum()


class Failing(TorchFunctionMode):
    def __init__(self):
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        if func is torch.Tensor.sin:
            raise KeyError("no sine")
        return func(*args, **(kwargs or {}))


def errors(x):
    mode = Failing()
    try:
        with mode:
            y = x * 2
            y.sin()
    except KeyError as error:
        text = str(error)
    with mode:
        try:
            y.sin()
        except KeyError:
            y = y + 1
    return y * 2, text, mode.seen, torch._C._len_torch_function_stack()


def switched_off(x):
    with Noting() as mode:
        with torch._C.DisableTorchFunction():
            y = x + 1
        with torch._C.DisableTorchFunctionSubclass():
            y = y.as_subclass(Tagged) if False else y + 1
    return y, names(mode), torch._C._is_torch_function_mode_enabled()


def questions(x):
    found = [torch._C._len_torch_function_stack()]
    with Noting() as mode:
        found += [torch._C._len_torch_function_stack(), torch._C._is_torch_function_mode_enabled()]
        current = torch.overrides._get_current_function_mode()
        found += [current is mode, len(torch.overrides._get_current_function_mode_stack())]
        found += [torch.overrides.has_torch_function((x,))]
    return x + 1, found, torch.overrides.has_torch_function((x,))


@contextmanager
def entered(mode):
    with mode:
        yield mode


def in_a_generator(x):
    with entered(Noting()) as mode:
        y = x.add(1)
    return y.add(1), names(mode)


def in_a_loop(x):
    found = []
    for index in range(3):
        with Noting(str(index)) as mode:
            x = x.add(index)
        found.append(names(mode))
    return x, found


def gradients(x):
    w = x.clone().requires_grad_()
    with Noting() as mode:
        y = (w * w).sum()
    (gradient,) = torch.autograd.grad(y, w)
    return gradient, names(mode)


def switched_gradients(x):
    w = x.clone().requires_grad_()
    with Noting() as mode:
        with torch.no_grad():
            y = w * 2
            with torch.enable_grad():
                z = w * 3
        with torch.set_grad_enabled(False):
            y = y + w
    return y, z, torch.is_grad_enabled(), mode.calls


def base_mode(x):
    with BaseTorchFunctionMode():
        return x + torch.ones(3)


CAPTURED = [
    operators, fields, methods, subscripts, factories, functionals, modules, nested, same_mode_twice, by_a_stack_of_blocks,
    with_subclasses, redirections, errors, switched_off, questions, in_a_generator,
    in_a_loop, gradients, switched_gradients, base_mode,
]  # fmt: skip


def observe(function, make=lambda: torch.arange(6.0).reshape(2, 3) - 2):
    """What three calls give, with the texts of errors."""
    found = []
    for _ in range(3):
        try:
            found.append(function(make()))
        except Exception as error:
            found.append((type(error), str(error).partition(" object at ")[0]))
    assert torch._C._len_torch_function_stack() == 0
    return repr(found)


@pytest.mark.parametrize("function", CAPTURED)
def test_a_mode_in_one_graph(function):
    assert observe(frontend.compile(function, backend="eager", fullgraph=True)) == observe(function)


def printing(x):
    class Printing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            print(resolve_name(func) if func is torch.sin else func.__name__)
            return func(*args, **(kwargs or {}))

    with Noting() as outer, Printing():
        y = torch.sin(x) + 1
    return y, names(outer)


def a_break_in_the_block(x):
    with Noting("a") as first, Noting("b") as second:
        y = x.add(1)
        print("between")
        y = y.add(2) * 2
    return y.add(1), names(first), names(second)


def stores_through_views(x):
    with Noting() as mode:
        y = x.clone()
        y[1:] += 1
    return y, names(mode)


def truths(x):
    with Noting() as mode:
        y = 1 if x.sum() > 0 else 2
        n = len(x), [row for row in x], float(x[0, 0]), x[0, 1].item(), 2.0 in x
    return y, n, names(mode)


def settings(x):
    with Noting() as mode:
        with torch.no_grad():
            y = x * 2
        with torch.device("cpu"):
            y = y + torch.ones(3)
        with torch.autocast("cpu", enabled=False):
            y = y + 1
        torch.set_default_dtype(torch.float32)
        found = torch.device("cpu"), torch.Size([1]), torch.get_default_dtype()
    return y, found, names(mode)


def stores(x):
    y = x.clone()
    with Noting() as mode:
        y.requires_grad = True
        y.grad = torch.ones_like(y)
        z = (y * 2).sum()
        z.backward()
    return y.grad, names(mode)


def where_all_decline(x):
    with Noting(declines=(torch.sin, torch.Tensor.add)) as mode:
        try:
            torch.sin(x)
        except TypeError as error:
            text = str(error).partition("0x")[0], str(error).rpartition(">")[2]
        try:
            x + 1
        except TypeError as error:
            text += (str(error),)
    return text, names(mode)


def returned_within(x):
    with Noting() as mode:
        return x.add(1), names(mode)


def raised_within(x):
    with Noting():
        x = x.add(1)
        raise ValueError(x.shape)


def operations_by_number(x):
    with Noting() as mode:
        y = torch.ops.aten.sin.default(x) + torch.ops.aten.add(x, 1)
    return y, names(mode)


@pytest.mark.parametrize(
    "function",
    [printing, a_break_in_the_block, stores_through_views, truths, settings, stores, where_all_decline,
     where_the_mode_declines_for_a_subclass, returned_within, raised_within,
     operations_by_number],
)  # fmt: skip
def test_a_mode_whose_block_breaks(function, capsys):
    expected = observe(function)
    printed = capsys.readouterr().out
    assert observe(frontend.compile(function, backend="eager")) == expected
    assert capsys.readouterr().out == printed


def test_a_mode_that_stays_entered():
    def run(x, mode):
        mode.__enter__()
        return x.add(1)

    def leave(mode):
        mode.__exit__(None, None, None)

    compiled, leaving = frontend.compile(run, backend="eager"), frontend.compile(leave, backend="eager")
    found = []
    for function, end in ((run, leave), (compiled, leaving)):
        modes = []
        for _ in range(3):
            modes.append(Noting())
            y = function(torch.ones(2), modes[-1])
            depth = torch._C._len_torch_function_stack()
            end(modes[-1])
            found.append((y.tolist(), depth, torch._C._len_torch_function_stack(), names(modes[-1])))
    assert found[:3] == found[3:]


def test_switches_under_a_mode_of_the_caller():
    def run(x):
        with torch.no_grad():
            y = x * 2
        return y.requires_grad, torch.is_grad_enabled()

    compiled = frontend.compile(run, backend="eager")
    for _ in range(3):
        expected, found = Noting(), Noting()
        with expected:
            result = run(torch.ones(2, requires_grad=True))
        with found:
            assert compiled(torch.ones(2, requires_grad=True)) == result
        assert repr(found.calls) == repr(expected.calls)


def test_no_mode_is_asked_such_questions():
    with Noting() as mode:
        for question in QUESTIONS:
            with suppress(TypeError, RuntimeError), warnings.catch_warnings(action="ignore"):
                question("cpu") if "autocast" in question.__name__ else question()
    assert mode.calls == []


def test_what_a_mode_reads_is_guarded():
    class Scaling(TorchFunctionMode):
        factor = 2.0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * self.factor if func is torch.sin else result

    mode = Scaling()

    def run(x):
        with mode:
            return torch.sin(x)

    compiled = frontend.compile(run, backend="eager", fullgraph=True)
    x = torch.ones(2)
    assert torch.equal(compiled(x), run(x))
    mode.factor = 3.0
    assert torch.equal(compiled(x), run(x))
    Scaling.factor = 4.0
    del mode.factor
    assert torch.equal(compiled(x), run(x))
    Scaling.__torch_function__ = lambda self, func, types, args=(), kwargs=None: args[0]
    assert torch.equal(compiled(x), run(x))


def of_a_subclass(x):
    tagged = x.as_subclass(Tagged)
    return tagged.sin() + 1, type(tagged).__name__


def made_of_numbers(x):
    return torch.tensor([1.0, 2.0]), torch.FloatTensor([3.0]), torch.tensor([x.shape[0], 2])


def asks_torch(x):
    return (
        torch.overrides.has_torch_function((x,)),
        torch.overrides.has_torch_function_unary(x),
        torch.get_default_device(),
        torch.device("cpu"),
    )


def to_numpy(x):
    return numpy.asarray(x).sum(), numpy.array(x).dtype, x.numpy().shape


@pytest.mark.parametrize("program", [of_a_subclass, made_of_numbers, asks_torch, to_numpy])
def test_a_mode_around_or_in_the_function_sees_the_program_alone(program):
    def inside(x):
        with Noting() as mode:
            found = program(x)
        return found, mode.calls

    for function in (program, inside):
        compiled = frontend.compile(function, backend="eager")
        for size in (2, 2, 3):
            for x in (torch.ones(size), torch.ones(size).as_subclass(Tagged)):
                expected, found = Noting(), Noting()
                with expected:
                    result = function(x)
                with found:
                    given = compiled(x)
                assert repr(given) == repr(result)
                assert repr(found.calls) == repr(expected.calls)
            assert repr(compiled(torch.ones(size))) == repr(function(torch.ones(size)))


class OfClass(TorchFunctionMode):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Static(TorchFunctionMode):
    @staticmethod
    def __torch_function__(func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("cls", [OfClass, Static])
def test_methods_that_torch_refuses(cls):
    def run(x):
        with cls():
            return torch.sin(x)

    compiled = frontend.compile(run, backend="eager")
    for _ in range(2):
        with pytest.raises(RuntimeError) as expected:
            run(torch.ones(2))
        with pytest.raises(RuntimeError, match="as a classmethod is not supported") as found:
            compiled(torch.ones(2))
        assert str(found.value) == str(expected.value)
        assert torch._C._len_torch_function_stack() == 0


class Shifting(TorchFunctionMode):
    """Changes the results of sines and keeps nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result + 1 if func is torch.sin else result


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_mode_is_asked_within_a_mapped_function(backend):
    def mapped(x, y):
        with Shifting():
            first = torch.vmap(lambda a, b: torch.sin(a) * b + a.sum(), in_dims=(0, None), out_dims=1)(x, y)
            return first, torch.vmap(torch.vmap(torch.sin))(x), torch.sin(x)

    compiled = frontend.compile(mapped, backend=backend, fullgraph=True)
    for rows in (4, 4, 1, 5):
        x, y = torch.randn(rows, 3), torch.randn(3)
        assert all(map(torch.equal, compiled(x, y), mapped(x, y)))


def test_a_mode_that_notes_calls_within_a_mapped_function_breaks_the_graph():
    def mapped(mode, x):
        with mode:
            return torch.vmap(lambda a: torch.sin(a) * 2)(x)

    compiled, modes = frontend.compile(mapped, backend="eager"), (Noting(), Noting())
    for _ in range(3):
        x = torch.randn(4)
        assert torch.equal(compiled(modes[0], x), mapped(modes[1], x))
    assert names(modes[0]) == names(modes[1]) != []
