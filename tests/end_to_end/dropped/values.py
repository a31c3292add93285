"""Programs that drop values and containers they were given, and what they made."""

# ruff: noqa: E731, B023, B007

import collections
import weakref

import torch
from tests.end_to_end.dropped.parts import XX, Items, Net, Point, Table, Thing, X, kind, refs
from torch import nn


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
