"""`frontend.export`: the exported module against the program itself, over further inputs, and what is refused."""

import functools
import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.testing._internal.two_tensor import TwoTensor

from framesmith import frontend

Pair = namedtuple("Pair", "first second")
SCALE = torch.full((3,), 2.0)
STEPS: list[int] = []


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.BatchNorm1d(3))
        self.register_buffer("shift", torch.ones(3))
        self.register_buffer("scratch", torch.ones(3), persistent=False)
        self.offset = torch.full((3,), 0.5)

    def forward(self, x, *, factor=2, extra=None):
        y = self.layers(x) * factor + self.shift + self.scratch + self.offset
        return {"y": y, "rows": x.shape[0], "extra": extra}


def same(one: object, other: object) -> None:
    """Fail unless two results are equal, with their containers."""
    left, spec = torch.utils._pytree.tree_flatten(one)
    right, other_spec = torch.utils._pytree.tree_flatten(other)
    assert spec == other_spec
    for each, expected in zip(left, right, strict=True):
        if isinstance(expected, torch.Tensor):
            torch.testing.assert_close(each, expected, rtol=0, atol=0)
        else:
            assert each == expected and type(each) is type(expected)


def x(rows: int = 4) -> torch.Tensor:
    return torch.arange(rows * 3, dtype=torch.float32).reshape(rows, 3) / 7


def nested(inputs, k=None):
    first, (second, rest) = inputs
    return [first + second, Pair(rest["a"] * 2, OrderedDict(b=first))], k


def variadic(*tensors, **named):
    return sum(tensors) + named["scale"], len(tensors), sorted(named)


def constants(t, flag=True, mode="sum", nothing=None):
    return (t.sum() if mode == "sum" else t.mean()) if flag else t, mode, nothing, torch.float32, 2.5


def over_a_closure():
    weight, module = torch.full((3,), 3.0), nn.Linear(3, 2)

    def inner(t):
        return module(t * weight + SCALE), weight

    return inner


def branches(t):
    with torch.no_grad():
        y = t * 2
    return torch.cond(t.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (y,))


def writes(t, out):
    out.mul_(2).add_(t)
    return out, t


def with_a_tensor_by_default(t, scale=torch.tensor(2.0)):
    return t * scale


PROGRAMS = {
    "nested": (nested, (([x(), (x() + 1, {"a": x()})],)), {"k": (x(), 1)}),
    "variadic": (variadic, (x(), x() + 1, x() * 2), {"scale": SCALE, "other": x()}),
    "constants": (constants, (x(), True, "mean"), {}),
    "passes inputs through": (lambda a, b: (b, a, b), (x(), x(2)), {}),
    "nothing": (lambda a: None, (x(),), {}),
    "no arguments": (lambda: SCALE + 1, (), {}),
    "closure": (over_a_closure(), (x(),), {}),
    "partial": (functools.partial(constants, mode="mean"), (x(),), {}),
    "partial of a module": (functools.partial(Net().eval(), factor=3), (x(),), {}),
    "module": (Net().eval(), (x(),), {"factor": 5, "extra": [x(2)]}),
    "method": (Net().eval().forward, (x(),), {}),
    "conditional": (branches, (x(),), {}),
    "positional only": (eval("lambda a, /, b, *, c: (a - b) * c"), (x(), 2), {"c": x()}),
    "default that is a tensor": (with_a_tensor_by_default, (x(),), {}),
    "compiled already": (frontend.compile(nested, backend="eager"), ([x(), (x(), {"a": x()})],), {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_takes_and_returns_what_the_program_does(name) -> None:
    program, args, kwargs = PROGRAMS[name]
    module = frontend.export(program)(*args, **kwargs).graph_module
    same(module(*args, **kwargs), program(*args, **kwargs))
    others = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t - 5, (args, kwargs))
    same(module(*others[0], **others[1]), program(*others[0], **others[1]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_calling_the_answer_checks_and_runs(name) -> None:
    program, args, kwargs = PROGRAMS[name]
    same(frontend.export(program)(*args, **kwargs)(*args, **kwargs), program(*args, **kwargs))


RETURN_A_DTYPE = {"constants", "partial"}  # which torch.export refuses, whatever makes the module


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - RETURN_A_DTYPE))
def test_torch_export_takes_the_module(name) -> None:
    program, args, kwargs = PROGRAMS[name]
    module = frontend.export(program)(*args, **kwargs).graph_module
    same(torch.export.export(module, args, kwargs).module()(*args, **kwargs), program(*args, **kwargs))


def test_parameters_and_buffers_keep_their_names_and_are_the_same_objects() -> None:
    net = Net()
    module = frontend.export(net)(x()).graph_module
    assert module.state_dict().keys() == net.state_dict().keys()
    assert all(parameter is net.get_parameter(name) for name, parameter in module.named_parameters())
    assert module.get_buffer("scratch") is net.scratch and module.offset is net.offset


def test_the_program_does_not_run() -> None:
    net, example = Net(), x()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    frontend.export(net)(example)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_statistics_are_written_as_in_eager() -> None:
    torch.manual_seed(0)
    net = Net()
    other = Net()
    other.load_state_dict(net.state_dict())
    module = frontend.export(net)(x()).graph_module
    for rows in (x(), x() + 1):
        same(module(rows)["y"], other(rows)["y"])
    same(dict(net.state_dict()), dict(other.state_dict()))


def test_gradients_reach_the_parameters() -> None:
    net = Net().eval()
    frontend.export(net)(x()).graph_module(x())["y"].sum().backward()
    found = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    net(x())["y"].sum().backward()
    same(found, [parameter.grad for parameter in net.parameters()])


def test_an_input_that_is_written_is_written() -> None:
    module = frontend.export(writes)(x(), torch.ones(4, 3)).graph_module
    outs = [torch.full((4, 3), 2.0), torch.full((4, 3), 2.0)]
    same(module(x(), outs[0]), writes(x(), outs[1]))
    same(*outs)


def test_hooks_are_part_of_the_program() -> None:
    net = Net().eval()
    net.layers[0].register_forward_hook(lambda module, args, result: result * 10)
    same(frontend.export(net)(x()).graph_module(x()), net(x()))


def test_tied_parameters_are_one() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    module = frontend.export(net)(x()).graph_module
    assert len(list(module.parameters())) == 3
    same(module(x()), net(x()))


def test_placeholders_are_named_after_arguments() -> None:
    module = frontend.export(nested)([x(), (x(), {"a": x()})], k=1).graph_module
    names = [node.target for node in module.graph.find_nodes(op="placeholder")]
    assert names == ["inputs_0", "inputs_1_0", "inputs_1_1_a", "k"]


def test_the_answer_unpacks_into_module_and_guards() -> None:
    module, guards = frontend.export(constants)(x())
    assert isinstance(module, torch.fx.GraphModule) and any("mode == 'sum'" in guard for guard in guards)


def test_arguments_may_be_given_at_once() -> None:
    same(frontend.export(constants, x(), True).graph_module(x(), True), constants(x()))


# sizes


def rows(t, other):
    return t.sum(0) * t.shape[0] + other.mean(), t.shape[0] + 1


@pytest.mark.parametrize(
    "shapes",
    [
        {"t": {0: Dim("batch")}},
        {"t": {0: Dim("batch", min=2, max=64)}, "other": None},
        ({0: Dim.DYNAMIC}, None),
        ({-2: Dim.AUTO}, {0: 2}),
        ((Dim.DYNAMIC, None), (None, None)),
        ([Dim("n"), 3], {0: Dim("m")}),
    ],
)
@pytest.mark.parametrize("size", [2, 7, 64])
def test_declared_sizes_may_differ(shapes, size) -> None:
    exported = frontend.export(rows, dynamic_shapes=shapes)(x(5), x(2))
    same(exported.graph_module(x(size), x(2)), rows(x(size), x(2)))
    same(exported(x(size), x(2)), rows(x(size), x(2)))


def test_marks_on_the_example_count() -> None:
    example = x(5)
    frontend.mark_dynamic(example, 0)
    same(frontend.export(rows)(example, x(2)).graph_module(x(9), x(2)), rows(x(9), x(2)))


def test_the_example_keeps_no_marks() -> None:
    example = x(5)
    frontend.export(rows, dynamic_shapes={"t": {0: Dim("n")}})(example, x(2))
    assert not vars(example)


def test_sizes_that_are_not_declared_are_checked_by_the_answer() -> None:
    exported = frontend.export(rows)(x(5), x(2))
    with pytest.raises(
        frontend.ExportError, match=r"was exported for other arguments: t: .*5.*declare what differs"
    ):
        exported(x(6), x(2))


WRONG_ARGUMENTS = {
    "another size": ((x(6), x(2)), {}, r"t: sizes changed from \[5, 3\] to \[6, 3\]"),
    "another dtype": ((x(5).double(), x(2)), {}, "t: dtype changed"),
    "another rank": ((x(5), torch.ones(3)), {}, "other: sizes changed"),
    "another number": ((x(5), x(2), 4), {}, "an argument: scale: value changed from 3 to 4"),
    "another text": ((x(5), x(2)), {"mode": "max"}, "an argument: mode"),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_the_module_refuses_what_the_example_fixed(name) -> None:
    def program(t, other, scale=3, mode="min", unread=None):
        return t.sum(0) * t.shape[0] + other.mean() * scale if mode == "min" else t

    args, kwargs, text = WRONG_ARGUMENTS[name]
    example = {"mode": "min"} if kwargs else {}
    module = frontend.export(program)(x(5), x(2), *((3,) if len(args) == 3 else ()), **example).graph_module
    with pytest.raises(frontend.ExportError, match=text):
        module(*args, **kwargs)


def test_what_the_program_did_not_read_may_differ() -> None:
    module = frontend.export(lambda t, unread: t + 1)(x(5), "text").graph_module
    same(module(x(5), 7), x(5) + 1)


def test_one_tensor_given_twice_is_two_inputs() -> None:
    example = x()
    module = frontend.export(lambda a, b: a - 2 * b)(example, example).graph_module
    same(module(x(), x() + 1), x() - 2 * (x() + 1))


def test_a_module_may_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(frontend.export(rows)(x(), x()).graph_module))
    same(again(x(), x()), rows(x(), x()))


def test_what_the_program_decided_about_sizes_is_checked_in_the_graph() -> None:
    def program(t):
        return t * 2 if t.shape[0] > 4 else t - 1

    module = frontend.export(program, dynamic_shapes={"t": {0: Dim("n", min=2)}})(x(5)).graph_module
    same(module(x(6)), program(x(6)))
    with pytest.raises(RuntimeError):
        module(x(3))


def test_sizes_that_are_used_together_are_checked_in_the_graph() -> None:
    shapes = {"a": {0: Dim("n")}, "b": {0: Dim.AUTO}}
    module = frontend.export(lambda a, b: a + b, dynamic_shapes=shapes)(x(5), x(5)).graph_module
    same(module(x(6), x(6)), x(6) * 2)
    with pytest.raises(RuntimeError):
        module(x(3), x(1))


def test_a_declared_size_that_the_program_fixes_is_an_error_with_its_line() -> None:
    def program(t):
        return t.reshape(5, 3) + 1

    with pytest.raises(
        frontend.DynamicSizeFixed, match=r"dimension 0 of t .* works for the size 5 only.*test_export"
    ):
        frontend.export(program, dynamic_shapes={"t": {0: Dim("n")}})(x(5))


BAD_SHAPES = {
    "no such argument": ({"z": {0: Dim("n")}}, "names 'z', which is no argument; the arguments are t, other"),
    "too few": (({0: Dim("n")},), "has 1 items for 2 arguments"),
    "no such dimension": ({"t": {2: Dim("n")}}, "names dimension 2 of t, which is of rank 2"),
    "wrong number of sizes": ({"t": (None,)}, "gives 1 sizes for t, which is of rank 2"),
    "wrong form": ({"t": 5}, "gives 5, an int for the tensor t"),
    "wrong size": ({"t": {0: "n"}}, "give a torch.export.Dim, an int or None"),
    "another number": ({"t": {0: 7}}, "dimension 0 of t is 7, and the example has 5"),
    "out of bounds": ({"t": {0: Dim("n", min=6)}}, "is 5 in the example, which is outside"),
    "one": ({"other": {0: Dim("n", min=1)}}, "sizes 0 and 1 are treated apart"),
    "for a container": ({"t": [None, None, None]}, "gives 3 sizes"),
    "no container": (7, "give a dict by argument name, or a tuple"),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_wrong_declarations_name_value_and_remedy(name) -> None:
    shapes, text = BAD_SHAPES[name]
    with pytest.raises(frontend.ExportError) as caught:
        frontend.export(rows, dynamic_shapes=shapes)(x(5), x(1))
    assert text in str(caught.value)


# effects


class Depth:
    def __init__(self) -> None:
        self.now = 0
        self.flag = None


DEPTH = Depth()
LEVEL = 0


class Deep(nn.Module):
    def forward(self, t):
        DEPTH.now += 1
        DEPTH.flag = t
        try:
            return object.__getattribute__(DEPTH, "__dict__")["now"] * t
        finally:
            DEPTH.now -= 1
            DEPTH.flag = None


def raises_the_level(t):
    global LEVEL
    LEVEL += 1
    t = t * LEVEL
    LEVEL -= 1
    return t


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, t):
        self.calls += 1
        return t * self.calls


def test_a_buffer_that_is_written_in_place_by_an_operator_is_written() -> None:
    counts, other = Counts(), Counts()
    module = frontend.export(counts)(x()).graph_module
    for _ in range(2):
        same(module(x()), other(x()))
    same(counts.calls, other.calls)


@pytest.mark.parametrize("program", [Deep(), raises_the_level])
def test_what_is_set_and_set_back_is_no_side_effect(program) -> None:
    same(frontend.export(program)(x()).graph_module(x() + 1), program(x() + 1))


# refused


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, t):
        self.calls += 1
        return t + self.calls


def appends(t):
    STEPS.append(1)
    return t + 1


def stores(t, box):
    box["last"] = t + 1
    return t


def switches(t):
    torch.set_grad_enabled(False)
    return t + 1


@pytest.mark.parametrize(
    ("program", "args", "text"),
    [
        (Counting(), (x(),), r"self\.\w+ is changed at .*test_export.py:\d+ in forward"),
        (appends, (x(),), r"STEPS \(.*list.*\) is changed at .*test_export.py:\d+ in appends"),
        (stores, (x(), {}), r"box \(.*dict.*\) is changed at .*test_export.py:\d+ in stores"),
        (switches, (x(),), "torch's is_grad_enabled is set"),
    ],
)
def test_side_effects_are_refused_with_their_line(program, args, text) -> None:
    before = len(STEPS), torch.is_grad_enabled()
    with pytest.raises(frontend.ExportError, match=text):
        frontend.export(program)(*args)
    assert (len(STEPS), torch.is_grad_enabled()) == before


def test_a_graph_break_is_refused_with_its_line() -> None:
    def program(t):
        print("here")
        return t

    with pytest.raises(frontend.FullGraphError, match="test_export"):
        frontend.export(program)(x())


@dataclass
class Box:
    t: torch.Tensor


def test_a_tensor_in_an_object_that_is_no_container_is_refused() -> None:
    with pytest.raises(frontend.ExportError, match=r"reads the tensor box\.t out of an argument"):
        frontend.export(lambda box: box.t + 1)(Box(x()))


def test_a_result_in_such_an_object_is_refused() -> None:
    with pytest.raises(frontend.ExportError, match="the result holds .*Box.* register the class"):
        frontend.export(lambda t: Box(t + 1))(x())


def of_cell(y):
    return lambda: y


def of_cell_of_cell(y):
    inner = of_cell(y)
    return lambda: inner()


def of_default(y):
    def get(one=y):
        return one

    return get


def of_list(y):
    held = [y]
    return lambda: held[0]


@pytest.mark.parametrize("make", [of_cell, of_cell_of_cell, of_default, of_list])
def test_a_result_that_keeps_a_tensor_in_a_function_is_refused(make) -> None:
    with pytest.raises(frontend.ExportError, match="the result holds"):
        frontend.export(lambda t: (t, make(t + 1)))(x())


def test_a_text_made_of_a_declared_size_is_refused() -> None:
    with pytest.raises(frontend.ExportError, match="as a text or an index"):
        frontend.export(lambda t: (t + 1, f"{t.shape[0]} rows"), dynamic_shapes={"t": {0: Dim("n")}})(x(5))


@pytest.mark.parametrize("wrong", [5, len, int, "text"])
def test_what_has_no_python_code_is_refused(wrong) -> None:
    with pytest.raises(frontend.InvalidArgument, match="export"):
        frontend.export(wrong)(x())


def test_arguments_that_do_not_fit_raise_as_the_call_does() -> None:
    with pytest.raises(TypeError, match="missing a required argument"):
        frontend.export(rows)(x())


def test_an_operation_that_raises_is_refused_with_torch_s_message() -> None:
    with pytest.raises(
        frontend.FullGraphError, match=r"operator\.add raised RuntimeError: Attempting to broadcast"
    ):
        frontend.export(lambda a, b: a + b)(x(5), torch.ones(4, 4))


def test_the_size_of_a_module_s_argument_is_named_as_its_forward_does() -> None:
    class Fixed(nn.Module):
        def forward(self, t):
            return t.reshape(5, 3)

    with pytest.raises(
        frontend.DynamicSizeFixed,
        match=r"^test_\S*Fixed\.forward \(.*test_export\.py:\d+\) breaks .*\n +dimension 0 of t is",
    ):
        frontend.export(Fixed(), dynamic_shapes={"t": {0: Dim("n")}})(x(5))


def raises(x):
    raise ValueError("bad")


def misses(x):
    return {}["missing"]


@pytest.mark.parametrize("program", [raises, misses])
def test_a_program_that_raises_is_refused_with_its_line(program) -> None:
    line = program.__code__.co_firstlineno + 1
    with pytest.raises(frontend.ExportError, match=f"raises an exception.*test_export.py:{line} in "):
        frontend.export(program)(torch.ones(2))


@pytest.mark.parametrize("kwargs", [{}, {"args": 1}])
def test_arguments_in_a_tuple_are_explained(kwargs) -> None:
    args = () if kwargs else ((torch.ones(2),),)
    with pytest.raises(Exception) as caught:
        frontend.export(torch.nn.Linear(2, 2), *args, **kwargs)
    assert "one by one" in caught.value.__notes__[0]


def test_the_state_of_the_program_loads_whole():
    """Other names of shared parameters, and what the graph does not use, are in the module's state too."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.unused = (torch.nn.Linear(2, 2) for _ in range(3))
            self.second.weight = self.first.weight
            self.register_buffer("count", torch.zeros(()))
            self.register_buffer("scratch", torch.zeros(()), persistent=False)

        def forward(self, x):
            return self.second(self.first(x))

    model = Tied()
    module = frontend.export(model, torch.ones(2)).graph_module
    assert module.state_dict().keys() == model.state_dict().keys()
    assert module.second.weight is module.first.weight is model.first.weight
    module.load_state_dict({name: torch.full_like(value, 2.0) for name, value in model.state_dict().items()})
    assert torch.equal(module(torch.ones(2))[0], model(torch.ones(2))[0])


def test_the_text_of_an_exported_module_is_that_of_its_graph() -> None:
    exported = frontend.export(torch.nn.Linear(2, 2))(torch.ones(3, 2))
    assert repr(exported).startswith("<Exported Linear.forward: 1 operation, ")
    assert str(exported).startswith(repr(exported)) and "linear" in str(exported)
    assert len(str(exported)) < 2000 and "recompute" not in str(exported)


def test_what_a_tensor_holds_is_refused_with_its_name() -> None:
    def noted(x):
        return x * x.note

    x = torch.ones(2)
    x.note = 3
    with pytest.raises(frontend.ExportError, match=r"depends on x\.note, which the tensor x holds"):
        frontend.export(noted, x)
    pair = TwoTensor(torch.ones(2, 2), torch.ones(2, 2))
    for shapes in (None, {"x": {0: Dim("rows")}}):
        with pytest.raises(frontend.ExportError, match=r"depends on x\.[ab], which the tensor x holds"):
            frontend.export(lambda x: x * 2, pair, dynamic_shapes=shapes)
