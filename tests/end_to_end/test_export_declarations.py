"""`export`: sizes of one name, ints that may differ, and examples that are views."""

import pytest
import torch
from torch.export import Dim, ShapesCollection

from framesmith import frontend

BATCH = Dim("batch")


def rows(count, columns=3):
    return torch.rand(count, columns)


@pytest.mark.parametrize(
    ("sizes", "example", "fits", "misfits"),
    [
        ((BATCH, BATCH), (4, 4), (7, 7), (7, 5)),
        ((BATCH, BATCH + 1), (4, 5), (7, 8), (7, 7)),
        ((2 * BATCH, BATCH), (8, 4), (6, 3), (6, 4)),
        ((BATCH + 1, BATCH + 1), (4, 4), (7, 7), (7, 5)),
    ],
)
def test_sizes_of_one_name_are_related_in_each_call(sizes, example, fits, misfits):
    def program(x, y):
        return x.sum() + y.mean()

    shapes = {name: {0: size} for name, size in zip("xy", sizes, strict=True)}
    module = frontend.export(program, dynamic_shapes=shapes)(*map(rows, example)).graph_module
    given = tuple(map(rows, fits))
    torch.testing.assert_close(module(*given), program(*given))
    with pytest.raises(RuntimeError):
        module(*map(rows, misfits))


@pytest.mark.parametrize(
    ("sizes", "example"),
    [((BATCH, BATCH), (4, 5)), ((BATCH, BATCH + 1), (4, 4)), ((BATCH * 2, BATCH * 2), (4, 6))],
)
def test_an_example_whose_sizes_are_not_so_related_is_refused(sizes, example):
    shapes = [{0: size} for size in sizes]
    with pytest.raises(
        frontend.ExportError, match=r"calls dimension 0 of x 'batch|calls dimension 0 of x '2\*batch"
    ):
        frontend.export(lambda x, y: (x, y), dynamic_shapes=shapes)(*map(rows, example))


NUMBERS = {
    "operand": (lambda x, n: (x * n, n * 2 + 1), 3, (7, 1, 0, -2)),
    "size": (lambda x, n: torch.ones(n) * x.sum(), 3, (5, 2)),
    "branch": (lambda x, n: x * n if n > 2 else x, 3, (7,)),
    "float": (lambda x, n: x * (n / 2) + n // 2, 3, (4, 0)),
    "index": (lambda x, n: x[n], 1, (0, 2)),
    "from one": (lambda x, n: x + n, 1, (5, 0)),
    "in a container": (lambda x, n: x + n, 4, (5,)),
}


@pytest.mark.parametrize("hint", [Dim.AUTO, Dim.DYNAMIC])
@pytest.mark.parametrize("name", NUMBERS)
def test_an_int_that_is_declared_may_differ(name, hint):
    program, number, others = NUMBERS[name]
    x = rows(4)
    module = frontend.export(program, dynamic_shapes=(None, hint))(x, number).graph_module
    for given in (number, *others):
        expected, found = program(x, given), module(x, given)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    for wrong in (True, 2.5):
        with pytest.raises(frontend.ExportError, match="n: expected an int"):
            module(x, wrong)


def test_an_int_in_a_container_and_as_a_keyword():
    def program(pair, *, scale):
        return pair["x"] * pair["n"] * scale

    shapes = {"pair": {"x": {0: BATCH}, "n": Dim.AUTO}, "scale": Dim.DYNAMIC}
    module = frontend.export(program, dynamic_shapes=shapes)({"x": rows(4), "n": 2}, scale=3).graph_module
    given = {"x": rows(6), "n": 5}
    torch.testing.assert_close(module(given, scale=7), program(given, scale=7))


def test_an_int_of_a_module_s_call():
    class Scaled(torch.nn.Module):
        def forward(self, x, n):
            return x * n

    x = rows(4)
    module = frontend.export(Scaled(), dynamic_shapes=(None, Dim.DYNAMIC))(x, 3).graph_module
    torch.testing.assert_close(module(x, 5), x * 5)


@pytest.mark.parametrize("program", [lambda x, n: x.view(n, -1), lambda x, n: sum([x] * n)])
def test_an_int_that_the_program_fixes(program):
    with pytest.raises(frontend.DynamicSizeFixed, match=r"the int n is declared as Dim\.DYNAMIC"):
        frontend.export(program, dynamic_shapes=(None, Dim.DYNAMIC))(rows(4), 4)
    module = frontend.export(program, dynamic_shapes=(None, Dim.AUTO))(rows(4), 4).graph_module
    with pytest.raises(RuntimeError):
        module(rows(4), 2)


@pytest.mark.parametrize("declared", [Dim("n"), Dim.DYNAMIC(max=9), {0: BATCH}, 4, "n"])
def test_other_declarations_of_an_int_are_refused(declared):
    with pytest.raises(frontend.ExportError, match="for n, which is the int 3"):
        frontend.export(lambda x, n: x * n, dynamic_shapes=(None, declared))(rows(4), 3)


@pytest.mark.parametrize("declared", [None, 3, Dim.STATIC])
def test_an_int_that_is_not_to_differ_is_fixed(declared):
    module = frontend.export(lambda x, n: x * n, dynamic_shapes=(None, declared))(rows(4), 3).graph_module
    with pytest.raises(frontend.ExportError):
        module(rows(4), 5)


@pytest.mark.parametrize(
    "view", [lambda x: x.reshape(-1, 3), lambda x: x.reshape(3, -1).t(), lambda x: x[::2].reshape(-1, 3)]
)
def test_an_example_that_is_a_view_stands_for_any_tensor(view):
    def program(x):
        return x * 2 + x.shape[0]

    module = frontend.export(program, dynamic_shapes=({0: BATCH},))(view(torch.arange(12.0))).graph_module
    for given in (view(torch.arange(24.0)), view(torch.arange(36.0) * 2)):
        torch.testing.assert_close(module(given), program(given))


def test_one_tensor_twice_with_a_collection_of_shapes():
    x = rows(4)
    module = frontend.export(lambda x, y: x + y, dynamic_shapes=[{0: BATCH}, {0: BATCH}])(x, x).graph_module
    torch.testing.assert_close(module(rows(5) * 0 + 1, rows(5) * 0 + 2), torch.full((5, 3), 3.0))
    shapes = ShapesCollection()
    shapes[x] = {0: BATCH}
    module = frontend.export(lambda x: x + 1, dynamic_shapes=shapes)(x).graph_module
    assert module(rows(9)).shape == (9, 3)


ONE_TENSOR = {
    "the class": ({0: Dim}, r"gives <class .*Dim'>.*; give a torch\.export\.Dim, such as Dim\('batch'\)"),
    "another class": ({0: int}, "gives <class 'int'>"),
    "a function": ({0: len}, "gives <built-in function len>"),
    "a tensor": ({0: torch.tensor(4)}, "give a torch.export.Dim"),
    "a device": ({0: torch.device("cpu")}, "give a torch.export.Dim"),
    "a bool": ({0: True}, "gives True, a bool"),
    "a float": ({0: 4.0}, "gives 4.0, a float"),
    "a name for all": (BATCH, "for the tensor x"),
    "one dimension twice": ({0: BATCH, -2: 4}, "names dimension 0 of x twice"),
    "bounds below 0": ({0: BATCH - 1}, r"dimension 0 of x: .*min value for batch"),
}


@pytest.mark.parametrize("name", ONE_TENSOR)
def test_what_is_no_size_is_refused(name):
    declared, message = ONE_TENSOR[name]
    with pytest.raises(frontend.ExportError, match=message):
        frontend.export(lambda x: x + 1, dynamic_shapes=(declared,))(rows(4))


def test_a_class_in_place_of_a_collection_is_refused():
    with pytest.raises(frontend.ExportError, match="give a dict by argument name, or a tuple"):
        frontend.export(lambda x: x + 1, dynamic_shapes=ShapesCollection)(rows(4))
