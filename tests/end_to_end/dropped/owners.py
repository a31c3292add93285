"""Programs that drop methods, modules, optimizers, hooks and iterators."""

# ruff: noqa: E731, B023, B007

import functools

import torch
from tests.end_to_end.dropped.parts import XX, Net, Thing, X, kind, refs
from torch import nn


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
def make_raised_exception(compile, calls):
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
