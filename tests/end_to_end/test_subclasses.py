"""Tensors of classes with `__torch_function__`, objects with it, and tensors that wrap others: one graph, and equal to eager."""

import operator

import pytest
import torch
from tests.end_to_end.support import check
from torch.testing._internal.two_tensor import TwoTensor

from framesmith import frontend

ASKED: list[object] = []


class Tagged(torch.Tensor):
    """Inherits the default override; has attributes and methods."""

    tag = "none"

    def shifted(self, by):
        return self + by

    @property
    def twice(self):
        return self * 2


class Noted(torch.Tensor):
    """Notes what it is asked."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        order = [type(arg).__name__ for arg in args]
        ASKED.append((func.__name__, [kind.__name__ for kind in types], order, sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)


class Tenfold(torch.Tensor):
    """Changes what a sum is."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs)
        return result * 10 if func in (torch.add, torch.Tensor.add) else result


class Declining(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Scalar:
    """A number that is no tensor, and knows some functions of torch."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.mean:
            return args[0].value
        plain = [torch.tensor(arg.value) if isinstance(arg, Scalar) else arg for arg in args]
        return func(*plain, **(kwargs or {}))


def tagged(size=3):
    return torch.arange(float(size)).as_subclass(Tagged)


def noted(size=4):
    return torch.arange(float(size)).as_subclass(Noted)


def compare(function, make, *, full=True, calls=2):
    """Run a function eagerly and compiled on new arguments, and compare results, types and what was asked."""
    compiled = frontend.compile(function, backend="eager", fullgraph=full)
    for _ in range(calls):
        seen = []
        for runs in (function, compiled):
            ASKED.clear()
            args = make()
            result = runs(*args)
            seen.append((show(result), show(args), list(ASKED)))
        assert seen[0] == seen[1]


def show(value):
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            parts = (
                [show(getattr(value, name)) for name in ("a", "b")]
                if isinstance(value, TwoTensor)
                else value.tolist()
            )
            return type(value).__name__, str(value.dtype), parts, value.requires_grad
    if isinstance(value, list | tuple):
        return type(value).__name__, [show(item) for item in value]
    return value.value if isinstance(value, Scalar) else value


def test_attributes_methods_and_results():
    def run(x):
        x.tag = "set"
        y = x.shifted(1) + x.twice
        y.extra = x
        return y, y.extra is x, x.tag, Tagged.tag, type(y.sum()).__name__, isinstance(y, Tagged)

    compare(run, lambda: (tagged(),))


def test_torch_asks_what_it_asks_eagerly():
    def run(x, y):
        results = [
            x + y,
            y - x,
            1 - x,
            x // 2,
            2**x,
            -x,
            abs(x),
            x == y,
            x[1:],
            x @ y,
            torch.cat([y, x]),
        ]
        results += [x.shape, x.T, x.ndim, len(x), x.size(0), x.max(0).values, torch.add(y, other=x, alpha=2)]
        x += 1
        x[0] = 5
        return [*results, torch.nn.functional.relu(x), torch.split(x, 2), x.norm(), x.requires_grad]

    compare(run, lambda: (noted(), torch.ones(4)))


@pytest.mark.parametrize("dynamic", [None, True])
def test_entries_and_guards_ask_nothing(dynamic):
    def run(x, y):
        chosen = y[x > 1]
        x += 1
        x -= y
        x[x > 2] = 0
        return chosen, x, x.is_leaf, x.grad, x.shape[0] * x, x.stride()

    compiled = frontend.compile(run, backend="eager", dynamic=dynamic)
    for size in (4, 4, 5, 3, 1, 0, 4):
        seen = []
        for function in (run, compiled):
            x, y = torch.arange(float(size)).as_subclass(Noted), torch.ones(size)
            ASKED.clear()
            result = function(x, y)
            asked = list(ASKED)
            seen.append((show(result), show(x), asked))
        assert seen[0] == seen[1]


def test_an_override_decides_what_an_operation_is():
    def run(x, y):
        return x + y, y + x, torch.add(y, x), x - y, torch.Tensor.add(x, 1)

    compare(run, lambda: (torch.ones(2).as_subclass(Tenfold), torch.ones(2)))


def test_a_disabled_override_gives_plain_tensors():
    compare(lambda x: (x + 1, x.sum()), lambda: (torch.ones(2).as_subclass(Silent),))


@pytest.mark.parametrize(
    "operation",
    [lambda x: x + 1, lambda x: 1 - x, torch.sin, lambda x: x.shape, lambda x: torch.add(x, other=1)],
)
def test_the_error_where_all_decline_is_that_of_torch(operation):
    def run(x):
        try:
            return operation(x)
        except TypeError as error:
            return str(error)

    compare(run, lambda: (torch.ones(2).as_subclass(Declining),))


def test_made_inside_and_plain_again():
    def run(x):
        y = x.as_subclass(Tagged)
        y.mul_(2)
        plain = y.as_subclass(torch.Tensor)
        return y, plain, y is x, type(plain) is torch.Tensor

    compare(run, lambda: (torch.ones(3),))


def test_within_the_switch_no_class_is_asked():
    def run(x):
        with torch._C.DisableTorchFunctionSubclass():
            inside = x + 1
        return inside, type(inside) is torch.Tensor, x + 1

    compare(run, lambda: (noted(),))


def test_objects_with_an_override():
    def run(s, x):
        return torch.mean(s), torch.add(s, x), torch.mul(x, s)

    compare(run, lambda: (Scalar(2.0), torch.ones(3)))


def test_a_replaced_override_is_a_miss():
    class Changing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    def hundredfold(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {})) * 100

    compiled = frontend.compile(lambda x: x + 1, backend="eager", fullgraph=True)
    x = torch.ones(2).as_subclass(Changing)
    assert type(compiled(x)) is Changing
    Changing.__torch_function__ = classmethod(hundredfold)
    assert compiled(x).tolist() == [200.0, 200.0]
    del Changing.__torch_function__
    assert show(compiled(x)) == ("Changing", "torch.float32", [2.0, 2.0], False)


def test_a_break_inside_an_override():
    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            ASKED.append(func.__name__)
            print(end="")
            return super().__torch_function__(func, types, args, kwargs)

    compare(
        lambda x: (torch.sin(x).cos(), x + 1, x.shape), lambda: (torch.ones(2).as_subclass(Loud),), full=False
    )


def test_metadata_in_place_and_several_subclasses_break():
    class Other(torch.Tensor):
        pass

    def run(x, y):
        x.unsqueeze_(0)
        try:
            operator.add(x, y)
        except TypeError as error:
            return str(error), x
        return x

    compare(run, lambda: (noted(), torch.ones(4).as_subclass(Other)), full=False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_of_subclasses(backend):
    weight = torch.ones(3, requires_grad=True)

    def run(x):
        return (x * weight).sin()

    compiled = frontend.compile(run, backend=backend, fullgraph=True)
    results = []
    for function in (run, compiled, compiled):
        weight.grad = None
        result = function(tagged())
        result.sum().backward()
        results.append((show(result), show(weight.grad)))
    assert results[0] == results[1] == results[2]


def test_sizes_of_subclasses_become_symbols():
    compiled = frontend.compile(lambda x: x.reshape(-1) / x.shape[0], backend="eager", fullgraph=True)
    for size in (3, 4, 5, 1, 0, 6):
        assert show(compiled(tagged(size))) == show(tagged(size).reshape(-1) / size)


def two(size=2):
    return TwoTensor(torch.arange(float(size)), torch.ones(size))


def test_wrappers():
    def run(x, y):
        return x.sin() * 2 + y, x.a, x.b.sum(), x.a is x.a, type(x).__name__, x.shape

    compare(run, lambda: (two(), torch.ones(2)))


def test_wrappers_are_written_in_place():
    def run(x):
        x.add_(1)
        x[0] = 3
        x.a.mul_(2)
        return x + 1

    compare(run, lambda: (two(),))


def test_what_a_wrapper_holds_is_guarded():
    def run(x):
        return x + 1, getattr(x, "note", None)

    compiled = frontend.compile(run, backend="eager")
    x = two()
    changes = (
        lambda: None,
        lambda: setattr(x, "note", 1),
        lambda: setattr(x, "note", [2]),
        lambda: setattr(x, "b", torch.zeros(2)),
        lambda: delattr(x, "note"),
    )
    for change in changes:
        change()
        assert show(compiled(x)) == show(run(x))


def test_memory_that_a_wrapper_shares():
    def run(x, y):
        x.a.add_(1)
        return x + 1, y + 1, x.a is y

    def shared():
        memory = torch.ones(2)
        return TwoTensor(memory, torch.ones(2)), memory

    compiled = frontend.compile(run, backend="eager")
    for make in (shared, lambda: (two(), torch.ones(2)), shared):
        assert show(compiled(*make())) == show(run(*make()))


def test_a_store_into_a_wrapper_breaks():
    def run(x):
        x.a = x.b * 3
        return x + 1

    compare(run, lambda: (two(),), full=False)


def test_subclasses_of_parameters():
    class Weight(torch.nn.Parameter):
        def norm2(self):
            return (self * self).sum()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = Weight(torch.ones(3))

        def forward(self, x):
            return self.weight * x + self.weight.norm2()

    check(Model(), torch.ones(3), graphs=1, breaks=0)


def test_lazy_modules_are_one_graph_from_their_second_call_on():
    model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU(), torch.nn.LazyLinear(2))
    report = []
    compiled = frontend.compile(
        model, backend=lambda graph, inputs: report.append(graph) or graph.forward, fullgraph=True
    )
    x = torch.ones(2, 3)
    first = compiled(x)
    assert type(model[0]) is torch.nn.Linear and not report
    assert torch.equal(compiled(x), first) and len(report) == 1


def test_a_class_that_makes_its_tensors_of_data():
    class Labelled(torch.Tensor):
        def __new__(cls, data, label):
            made = torch.Tensor._make_subclass(cls, data)
            made.label = label
            return made

    def run(x):
        made = Labelled(x, "label")
        made.add_(1)
        weight = x.clone().requires_grad_()
        free = torch.Tensor._make_subclass(Labelled, weight * 2)
        return made * 2, made.label, type(made).__name__, x, free.grad_fn is None, (free * weight).sum()

    compiled = frontend.compile(run, backend="eager", fullgraph=True)
    for _ in range(2):
        assert repr(compiled(torch.ones(3))) == repr(run(torch.ones(3)))
