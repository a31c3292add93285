"""Programs that drop what took part in conversions of every kind: breaks, recompiles, failures, limits, nested compilers."""

# ruff: noqa: E731, B023, B007

import numpy
import torch
from tests.end_to_end.dropped.parts import XX, Items, Net, Thing, X, kind, refs
from torch import nn
from torch.utils.checkpoint import checkpoint


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


@kind
def module_that_reads_its_frame(compile, calls):
    class Reader(Net):
        def forward(self, x, thing):
            return thing.scale(super().forward(x)) * len(locals())

    module, thing = Reader(), Thing()
    compiled = compile(module)
    for _ in range(calls):
        compiled(XX(), thing)
    return None, refs(module, compiled, thing)


@kind
def inlined_function_that_reads_its_frame(compile, calls):
    thing = Thing()

    def read(x):
        return x * len(locals())

    compiled = compile(lambda x, thing: thing.scale(read(x)))
    for _ in range(calls):
        compiled(X(), thing)
    return None, refs(thing, read, compiled)
