"""Programs that drop one kind of object each. `program(compile, calls)` gives (what is kept, weak references to what was dropped)."""

# ruff: noqa: E731, B023, B007

import collections
import dataclasses
import functools
import weakref

import numpy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Thing:
    def __init__(self, value=2.0):
        self.value = value
        self.tensor = torch.full((3,), float(value))

    def scale(self, x):
        return x * self.value + self.tensor


class Items(list):
    pass


class Table(dict):
    pass


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    n: int = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.thing = Thing()

    def forward(self, x):
        return self.norm(self.inner(x)).relu() * self.thing.value


def refs(*objects):
    return [weakref.ref(one) for one in objects]


def X():
    return torch.ones(3)


def XX():
    return torch.ones(4, 3)


KINDS = []


def kind(f):
    KINDS.append(f)
    return f


@kind
def input_tensor(compile, calls):
    compiled = compile(lambda x: x * 2 + 1)
    x = X()
    for _ in range(calls):
        compiled(x)
    return compiled, refs(x)


@kind
def input_leaf_with_gradient(compile, calls):
    compiled = compile(lambda x: (x * 2 + 1).sum())
    x = X().requires_grad_()
    for _ in range(calls):
        compiled(x).backward()
    return compiled, refs(x, x.grad)


@kind
def input_parameter(compile, calls):
    compiled = compile(lambda x: (x * 2 + 1).sum())
    x = nn.Parameter(X())
    for _ in range(calls):
        compiled(x).backward()
    return compiled, refs(x, x.grad)


@kind
def input_view_and_base(compile, calls):
    compiled = compile(lambda x: x.add_(1))
    base = torch.ones(4, 3)
    view = base[1]
    for _ in range(calls):
        compiled(view)
    return compiled, refs(base, view)


@kind
def input_list(compile, calls):
    compiled = compile(lambda items: items[0] * 2 + items[1].value)
    items = Items([X(), Thing()])
    for _ in range(calls):
        compiled(items)
    return compiled, refs(items, items[0], items[1])


@kind
def input_dict(compile, calls):
    def f(table):
        table["out"] = table["x"] * 2 + table["thing"].value
        return len(table)

    compiled = compile(f)
    table = Table(x=X(), thing=Thing())
    for _ in range(calls):
        compiled(table)
    return compiled, refs(table, table["x"], table["thing"])


@kind
def plain_containers(compile, calls):
    def f(items, table):
        items.append(table["a"].value)
        return table["a"].tensor + items[0].tensor

    compiled = compile(f)
    first, second = Thing(1), Thing(2)
    items, table = [first], {"a": second}
    for _ in range(calls):
        compiled(items, table)
    return compiled, refs(first, second, first.tensor, second.tensor)


@kind
def nested_container(compile, calls):
    compiled = compile(lambda tree: tree["a"][0][1].tensor + 1)
    thing = Thing()
    tree = {"a": [(1, thing)]}
    for _ in range(calls):
        compiled(tree)
    return compiled, refs(thing, thing.tensor)


@kind
def deque_and_set(compile, calls):
    def f(d, s):
        d.append(d.popleft())
        return d[0].tensor + len(s)

    compiled = compile(f)
    d, s = collections.deque([Thing(), Thing()]), {1, 2}
    for _ in range(calls):
        compiled(d, s)
    return compiled, refs(d, d[0], d[1], s)


@kind
def input_object(compile, calls):
    def f(thing, x):
        thing.last = x * thing.value
        return thing.scale(x)

    compiled = compile(f)
    thing, x = Thing(), X()
    for _ in range(calls):
        compiled(thing, x)
    return compiled, refs(thing, thing.tensor, thing.last, x)


@kind
def input_module(compile, calls):
    compiled = compile(lambda net, x: net(x))
    net = Net()
    for _ in range(calls):
        compiled(net, XX())
    return compiled, refs(net, net.inner, net.inner.weight, net.thing, net.norm.running_mean)


@kind
def input_dataclass(compile, calls):
    compiled = compile(lambda p: Point(p.x * p.n, 3).x)
    p = Point(X())
    for _ in range(calls):
        compiled(p)
    return compiled, refs(p, p.x)


@kind
def output_tensor(compile, calls):
    compiled = compile(lambda x: (x * 2, [x + 1]))
    for _ in range(calls):
        out = compiled(X())
    return compiled, refs(out[0], out[1][0])


@kind
def output_object(compile, calls):
    compiled = compile(lambda x: Point(x * 2))
    for _ in range(calls):
        out = compiled(X())
    return compiled, refs(out, out.x)


@kind
def intermediate_tensor(compile, calls):
    seen = []

    def look(t):
        seen.append(weakref.ref(t))

    def f(x):
        t = x * 2
        print(end="")
        look(t)
        return t + 1

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    return compiled, seen


@kind
def compiled_function(compile, calls):
    def f(x):
        return x * 2

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    return None, refs(f, compiled)


@kind
def compiled_function_never_called(compile, calls):
    def f(x):
        return x * 2

    compiled = compile(f)
    return None, refs(f, compiled)


@kind
def compiled_lambda(compile, calls):
    compiled = compile(lambda x: x * 2)
    for _ in range(calls):
        compiled(X())
    return None, refs(compiled)


@kind
def compiled_function_with_breaks(compile, calls):
    def f(x):
        for i in range(3):
            x = x * 2
            print(end="")
        return x + 1

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    return None, refs(f, compiled)


@kind
def compiled_closure(compile, calls):
    thing, tensor = Thing(), X()

    def f(x):
        return thing.scale(x) + tensor

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    return None, refs(f, compiled, thing, tensor)


@kind
def replaced_cell_content(compile, calls):
    thing = Thing()

    def f(x):
        return x * thing.value + thing.tensor

    def replace():
        nonlocal thing
        thing = Thing(3)

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    found = refs(thing, thing.tensor)
    replace()
    return compiled, found


@kind
def changed_cell(compile, calls):
    count, tensor = 0, X()

    def f(x):
        nonlocal count, tensor
        count += 1
        tensor = tensor + x
        return tensor * count

    compiled = compile(f)
    first = weakref.ref(tensor)
    for _ in range(calls):
        compiled(X())
    return compiled, [first]


@kind
def dropped_global(compile, calls):
    namespace = {"thing": Thing(), "tensor": X(), "__name__": "somewhere"}
    exec("def f(x):\n    return thing.scale(x) + tensor", namespace)
    compiled = compile(namespace["f"])
    for _ in range(calls):
        compiled(X())
    return compiled, refs(namespace.pop("thing"), namespace.pop("tensor"))


@kind
def method_object(compile, calls):
    thing = Thing()
    compiled = compile(thing.scale)
    for _ in range(calls):
        compiled(X())
    return None, refs(thing, thing.tensor)


@kind
def compiled_module(compile, calls):
    net = Net()
    compiled = compile(net)
    for _ in range(calls):
        compiled(XX()).sum().backward()
    return None, refs(
        net, compiled, net.inner, net.inner.weight, net.inner.weight.grad, net.thing, net.norm.running_mean
    )


@kind
def compiled_forward(compile, calls):
    net = Net()
    net.forward = compile(net.forward)
    del net.forward
    compiled = compile(net.forward)
    for _ in range(calls):
        compiled(XX())
    return None, refs(net, net.inner.weight)


@kind
def module_attribute_replaced(compile, calls):
    net = Net()
    compiled = compile(lambda x: net(x))
    for _ in range(calls):
        compiled(XX())
    found = refs(net.thing, net.inner, net.inner.weight)
    net.thing, net.inner = Thing(3), nn.Linear(3, 3)
    return compiled, found


@kind
def input_generator(compile, calls):
    def numbers(thing):
        for i in range(10):
            yield thing.tensor + i

    def f(g, x):
        return next(g) + x

    compiled = compile(f)
    thing = Thing()
    g = numbers(thing)
    for _ in range(calls):
        compiled(g, X())
    return compiled, refs(g, thing)


@kind
def consumed_generator(compile, calls):
    def f(g):
        total = 0
        for x in g:
            total = total + x
        return total

    compiled = compile(f)
    thing = Thing()
    for _ in range(calls):
        g = (thing.tensor * i for i in range(3))
        compiled(g)
    return compiled, refs(g, thing)


@kind
def input_iterator(compile, calls):
    compiled = compile(lambda it, x: next(it).tensor + x)
    things = [Thing() for _ in range(4)]
    it = iter(things)
    for _ in range(calls):
        compiled(it, X())
    return compiled, refs(*things)


@kind
def raised_exception(compile, calls):
    class Wrong(Exception):
        pass

    found = []

    def f(x, thing):
        y = x * 2
        raise Wrong(thing, y)

    compiled = compile(f)
    for _ in range(calls):
        x, thing = X(), Thing()
        found += refs(x, thing)
        try:
            compiled(x, thing)
        except Wrong as error:
            found += refs(error, error.args[1])
    return compiled, found


@kind
def caught_exception(compile, calls):
    class Wrong(Exception):
        pass

    found = []

    def f(x, thing):
        try:
            raise Wrong(thing)
        except Wrong as error:
            x = x + error.args[0].value
        return x

    compiled = compile(f)
    for _ in range(calls):
        x, thing = X(), Thing()
        found += refs(x, thing)
        compiled(x, thing)
    return compiled, found


@kind
def exception_of_an_operator(compile, calls):
    found = []

    def f(x, y):
        return x @ y

    compiled = compile(f)
    for _ in range(calls):
        x, y = torch.ones(2, 3), torch.ones(2, 3)
        found += refs(x, y)
        try:
            compiled(x, y)
        except RuntimeError:
            pass
    return compiled, found


@kind
def default_argument(compile, calls):
    thing, tensor = Thing(), X()

    def f(x, t=thing, *, u=tensor):
        return t.scale(x) + u

    compiled = compile(f)
    for _ in range(calls):
        compiled(X())
    return None, refs(thing, tensor, compiled)


@kind
def captured_by_an_inner_function(compile, calls):
    def f(x, thing):
        def inner(y):
            return y * thing.value

        return inner(x) + (lambda: thing.tensor)()

    compiled = compile(f)
    thing = Thing()
    for _ in range(calls):
        compiled(X(), thing)
    return compiled, refs(thing)


@kind
def returned_function(compile, calls):
    def f(x, thing):
        y = x * 2

        def inner(z):
            return z + y + thing.tensor

        return inner

    compiled = compile(f)
    thing = Thing()
    for _ in range(calls):
        inner = compiled(X(), thing)
    inner(X())
    return compiled, refs(thing, inner)


@kind
def callback(compile, calls):
    compiled = compile(lambda x, call: call(x) + 1)
    thing = Thing()
    call = lambda x: thing.scale(x)
    for _ in range(calls):
        compiled(X(), call)
    return compiled, refs(thing, call)


@kind
def bound_method_and_partial(compile, calls):
    compiled = compile(lambda x, call, part: call(x) + part())
    thing, other = Thing(), Thing()
    part = functools.partial(other.scale, X())
    for _ in range(calls):
        compiled(X(), thing.scale, part)
    return compiled, refs(thing, other, part)


@kind
def optimizer_and_state(compile, calls):
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    compiled = compile(step)
    for _ in range(calls):
        compiled(XX())
    state = [b for s in optimizer.state.values() for b in s.values() if isinstance(b, torch.Tensor)]
    return None, refs(optimizer, net, net.weight, *state)


@kind
def compiled_optimizer_step(compile, calls):
    net = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(XX()).sum().backward()

    def step():
        optimizer.step()

    compiled = compile(step)
    for _ in range(calls):
        compiled()
    state = [b for s in optimizer.state.values() for b in s.values() if isinstance(b, torch.Tensor)]
    return None, refs(optimizer, net, net.weight, *state)


@kind
def module_hook_closure(compile, calls):
    net, thing = nn.Linear(3, 3), Thing()

    def hook(module, args, result):
        return result * thing.value

    handle = net.register_forward_hook(hook)
    compiled = compile(lambda net, x: net(x))
    for _ in range(calls):
        compiled(net, XX())
    handle.remove()
    return compiled, refs(thing, hook, net)


@kind
def tensor_with_hook(compile, calls):
    thing = Thing()

    def hook(grad):
        return grad * thing.value

    compiled = compile(lambda x: (x * 2).sum())
    x = X().requires_grad_()
    x.register_hook(hook)
    for _ in range(calls):
        compiled(x).backward()
    return compiled, refs(x, thing, hook)


@kind
def hook_registered_while_traced(compile, calls):
    thing = Thing()

    def f(x):
        y = x * 2
        y.register_hook(lambda grad: grad * thing.value)
        return y.sum()

    compiled = compile(f)
    x = X().requires_grad_()
    for _ in range(calls):
        compiled(x).backward()
    return None, refs(x, thing, compiled)


@kind
def context_manager(compile, calls):
    class Manager:
        def __init__(self, thing):
            self.thing = thing

        def __enter__(self):
            return self.thing

        def __exit__(self, *exc):
            return False

    def f(x, manager):
        with manager as thing:
            x = thing.scale(x)
            print(end="")
            return x + 1

    compiled = compile(f)
    manager = Manager(Thing())
    for _ in range(calls):
        compiled(X(), manager)
    return compiled, refs(manager, manager.thing)


@kind
def backend_closure(compile, calls):
    thing = Thing()

    def backend(gm, inputs):
        assert thing.value
        return gm.forward

    compiled = compile(lambda x: x * 2, backend=backend)
    for _ in range(calls):
        compiled(X())
    return None, refs(thing, backend, compiled)


@kind
def tensors_after_recompiles(compile, calls):
    compiled = compile(lambda x, thing: x * thing.value + x.shape[0])
    found = []
    for n in range(2, 5 + calls):
        x, thing = torch.ones(n), Thing(n)
        found += refs(x, thing)
        compiled(x, thing)
    return compiled, found


@kind
def symbolic_inputs(compile, calls):
    compiled = compile(lambda x, n: x.reshape(-1, 2) * n + x.shape[0], dynamic=True)
    found = []
    for n in range(2, 4 + calls):
        x = torch.ones(2 * n, 2)
        found += refs(x)
        compiled(x, n)
    return compiled, found


@kind
def symbolic_function(compile, calls):
    thing = Thing()

    def f(x, n):
        return x.reshape(-1, 2) * n + x.shape[0] + thing.value

    compiled = compile(f, dynamic=True)
    for n in range(2, 4 + calls):
        compiled(torch.ones(2 * n, 2), n)
    return None, refs(thing, f, compiled)


@kind
def inputs_after_a_break(compile, calls):
    def f(x, thing, items):
        y = x * thing.value
        print(end="")
        items.append(y)
        return thing.scale(y)

    compiled = compile(f)
    thing, x, items = Thing(), X(), Items()
    for _ in range(calls):
        compiled(x, thing, items)
    return compiled, refs(thing, x, items, items[0])


@kind
def inputs_after_breaks_in_a_loop(compile, calls):
    def f(x, thing):
        for i in range(4):
            x = thing.scale(x)
            print(end="")
        return x

    compiled = compile(f)
    thing, x = Thing(), X()
    for _ in range(calls):
        compiled(x, thing)
    return compiled, refs(thing, x)


@kind
def inputs_after_a_nested_break(compile, calls):
    def inner(x, thing):
        x = x + 1
        print(end="")
        return thing.scale(x)

    def f(x, thing):
        return inner(x, thing) * 2

    compiled = compile(f)
    thing, x = Thing(), X()
    for _ in range(calls):
        compiled(x, thing)
    return compiled, refs(thing, x)


@kind
def data_dependent_branch(compile, calls):
    def f(x, thing):
        if x.sum() > 0:
            return thing.scale(x)
        return x

    compiled = compile(f)
    thing, x = Thing(), X()
    for _ in range(calls):
        compiled(x, thing)
    return compiled, refs(thing, x)


@kind
def inputs_after_a_failed_trace(compile, calls):
    def f(x, thing):
        x = thing.scale(x)
        print(end="")
        return x

    compiled = compile(f, fullgraph=True)
    thing, x = Thing(), X()
    for _ in range(calls):
        try:
            compiled(x, thing)
        except Exception:
            pass
        else:
            assert 0
    return compiled, refs(thing, x)


@kind
def function_after_a_failed_trace(compile, calls):
    thing = Thing()

    def f(x):
        x = thing.scale(x)
        print(end="")
        return x

    compiled = compile(f, fullgraph=True)
    for _ in range(calls):
        try:
            compiled(X())
        except Exception:
            pass
        else:
            assert 0
    return None, refs(thing, compiled, f)


@kind
def inputs_after_a_failed_backend(compile, calls):
    def backend(gm, inputs):
        raise ValueError("no")

    compiled = compile(lambda x, thing: thing.scale(x), backend=backend)
    thing, x = Thing(), X()
    for _ in range(calls):
        try:
            compiled(x, thing)
        except Exception:
            pass
        else:
            assert 0
    return compiled, refs(thing, x)


@kind
def inputs_after_the_limit(compile, calls):
    compiled = compile(lambda x, thing, name: thing.scale(x) + len(name))
    found = []
    for n in range(12 + calls):
        thing, x = Thing(), X()
        compiled(x, thing, "a" * n)
        found += refs(thing, x)
    return compiled, found


@kind
def function_after_the_limit(compile, calls):
    thing = Thing()

    def f(x, name):
        return thing.scale(x) + len(name)

    compiled = compile(f)
    for n in range(12 + calls):
        compiled(X(), "a" * n)
    return None, refs(thing, f, compiled)


@kind
def array(compile, calls):
    compiled = compile(lambda a: a * 2 + 1)
    a = numpy.ones(3)
    for _ in range(calls):
        compiled(a)
    return compiled, refs(a)


@kind
def random_generator(compile, calls):
    compiled = compile(lambda x, g: x + torch.rand(3, generator=g))
    g = torch.Generator()
    for _ in range(calls):
        compiled(X(), g)
    return compiled, refs(g)


@kind
def aot_inputs(compile, calls):
    compiled = compile(lambda net, x: net(x).sum(), backend="aot_eager")
    net, x = Net(), XX()
    for _ in range(calls):
        compiled(net, x).backward()
    return compiled, refs(net, x, net.inner.weight)


@kind
def aot_closure(compile, calls):
    thing, net = Thing(), Net()

    def f(x):
        return thing.scale(net(x).sum(0))

    compiled = compile(f, backend="aot_eager")
    for _ in range(calls):
        compiled(XX()).sum().backward()
    return None, refs(thing, net, net.inner.weight, f, compiled)


@kind
def autograd_function_context(compile, calls):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 + ctx.saved_tensors[0] * 0

    compiled = compile(lambda x: Double.apply(x).sum())
    x = X().requires_grad_()
    for _ in range(calls):
        compiled(x).backward()
    return compiled, refs(x)


@kind
def checkpointed(compile, calls):
    net = nn.Linear(3, 3)
    compiled = compile(lambda net, x: checkpoint(net, x, use_reentrant=False).sum())
    x = XX()
    for _ in range(calls):
        compiled(net, x).backward()
    return compiled, refs(net, net.weight, x)


@kind
def mutated_object_with_del(compile, calls):
    log = []

    class Noisy:
        def __init__(self):
            self.n = 1

        def __del__(self):
            log.append(1)

    compiled = compile(lambda x, noisy: x * noisy.n)
    noisy = Noisy()
    for _ in range(calls):
        compiled(X(), noisy)
    return compiled, refs(noisy)


@kind
def generator_in_the_function(compile, calls):
    def numbers(thing):
        try:
            for i in range(10):
                yield thing.tensor + i
        finally:
            thing.value = 0

    def f(x, thing):
        for y in numbers(thing):
            print(end="")
            x = x + y
            if x.sum() > 20:
                break
        return x

    compiled = compile(f)
    thing = Thing()
    for _ in range(calls):
        compiled(X(), thing)
    return compiled, refs(thing)


@kind
def gradient_mode_objects(compile, calls):
    def f(x, thing):
        with torch.no_grad():
            y = thing.scale(x)
        return y

    compiled = compile(f)
    thing = Thing()
    for _ in range(calls):
        compiled(X(), thing)
    return compiled, refs(thing)


@kind
def recursive_closure(compile, calls):
    thing = Thing()

    def walk(x, n):
        return thing.scale(x) if n == 0 else walk(x, n - 1)

    compiled = compile(lambda x, thing: walk(x, 2) + thing.value)
    other = Thing()
    for _ in range(calls):
        compiled(X(), other)
    return compiled, refs(other)
