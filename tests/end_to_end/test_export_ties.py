"""`export`: sizes that were declared under independent names and that the program ties, as `torch.export` sees them."""

import pytest
import torch
from torch.export import Dim

from framesmith import frontend

B, C, D = Dim("b"), Dim("c"), Dim("d")


def shift(x, y):
    return x[1:] + y


def add(x, y):
    return x + y


def double(x, y):
    return torch.cat([x, x]) + y


def rate(x, y):
    return torch.cat([x, x, x]) + torch.cat([y, y])


def fill(x, y):
    return torch.cat([x, y]).reshape(10)


def branch(x, y):
    return x if x.shape[0] == y.shape[0] else y


TIED = {
    "one less": (
        shift,
        (5, 4),
        (B, C),
        r"b == c \+ 1, .*dimension 0 of x .*dimension 0 of y",
        r"c \+ 1 in place of b",
    ),
    "equal": (add, (5, 5), (B, C), "c == b", "b in place of c"),
    "by a branch": (branch, (5, 5), (B, C), "c == b", "b in place of c"),
    "twice": (double, (5, 10), (B, C), r"c == 2\*b", r"2\*b in place of c"),
    "three to two": (rate, (4, 6), (B, C), r"3\*b == 2\*c", r"2\*b_c in place of b and 3\*b_c in place of c"),
    "derived": (add, (6, 6), (2 * B, 3 * C), r"2\*b == 3\*c", "in place of"),
    "derived from one": (shift, (7, 6), (2 * B + 1, 3 * C), r"2\*b == 3\*c", "in place of"),
    "a sum": (fill, (6, 4), (B, C), r"b == 10 - c|c == 10 - b|b == -c \+ 10", "Dim.AUTO in place of a name"),
}


@pytest.mark.parametrize("name", TIED)
def test_names_that_the_program_ties_are_refused_with_line_and_remedy(name):
    program, sizes, declared, text, remedy = TIED[name]
    example = tuple(map(torch.rand, sizes))
    shapes = tuple({0: size} for size in declared)
    line = program.__code__.co_firstlineno + 1
    message = rf"^{program.__name__} \(.*ties sizes .*independent:\n.*{text}.*:{line} in {program.__name__}: return (.|\n)*{remedy}"
    with pytest.raises(frontend.ExportError, match=message):
        frontend.export(program, dynamic_shapes=shapes)(*example)


RELATED = [
    (shift, (5, 4), (C + 1, C), (9, 8)),
    (shift, (5, 4), (Dim("b", min=3), Dim("b", min=3) - 1), (9, 8)),
    (add, (5, 5), (B, B), (9, 9)),
    (double, (5, 10), (B, 2 * B), (3, 6)),
    (rate, (4, 6), (2 * B, 3 * B), (8, 12)),
    (add, (6, 6), (6 * B, 6 * B), (12, 12)),
    (add, (5, 5), (B, Dim.AUTO), (9, 9)),
    (shift, (5, 4), (Dim.DYNAMIC, Dim.DYNAMIC), (9, 8)),
    (fill, (6, 4), (B, Dim.AUTO), (4, 6)),
]


@pytest.mark.parametrize(("program", "sizes", "declared", "others"), RELATED)
def test_sizes_that_are_declared_as_the_program_ties_them_may_differ(program, sizes, declared, others):
    shapes = tuple({0: size} for size in declared)
    exported = frontend.export(program, dynamic_shapes=shapes)(*map(torch.rand, sizes))
    given = tuple(map(torch.rand, others))
    torch.testing.assert_close(exported(*given), program(*given))


@pytest.mark.parametrize("sizes", [(B, Dim.AUTO, C), (Dim.AUTO, B, C), (B, C, Dim.AUTO)])
def test_names_that_are_tied_through_a_size_without_one_are_refused(sizes):
    def program(x, y, z):
        return x + y, y + z

    shapes = tuple({0: size} for size in sizes)
    with pytest.raises(frontend.ExportError, match=r"c == b, where .*\n +declare b in place of c"):
        frontend.export(program, dynamic_shapes=shapes)(*(torch.rand(5) for _ in range(3)))


def test_relations_of_three_names_and_of_products_are_left_to_the_checks():
    def program(x, y, z):
        return torch.cat([x, y]) + z

    module = frontend.export(program, dynamic_shapes=({0: B}, {0: C}, {0: D}))(
        torch.rand(2), torch.rand(3), torch.rand(5)
    ).graph_module
    assert module(torch.rand(4), torch.rand(3), torch.rand(7)).shape == (7,)
    with pytest.raises(RuntimeError):
        module(torch.rand(4), torch.rand(3), torch.rand(8))


def test_a_name_that_two_declarations_and_the_program_fix_is_an_error():
    with pytest.raises(
        frontend.DynamicSizeFixed,
        match="declared as .*b.*, and the program works where b == 3 only; it is asked at",
    ):
        frontend.export(add, dynamic_shapes=({0: 2 * B}, {0: B + 3}))(torch.rand(6), torch.rand(6))


def test_sizes_that_the_program_does_not_tie_are_independent():
    module = frontend.export(lambda x, y: (x + 1, y.sum()), dynamic_shapes=({0: B}, {0: C}))(
        torch.rand(5), torch.rand(5)
    ).graph_module
    assert module(torch.rand(3), torch.rand(4))[0].shape == (3,)


@pytest.mark.parametrize(
    ("sizes", "fits", "misfits"), [((2 * B,), (8,), (7,)), ((2 * B, 3 * B), (4, 6), (4, 9))]
)
def test_sizes_are_derived_from_one_that_no_dimension_has(sizes, fits, misfits):
    names = "xy"[: len(sizes)]
    program = {1: lambda x: x + 1, 2: lambda x, y: (x + 1, y)}[len(sizes)]
    shapes = {name: {0: size} for name, size in zip(names, sizes, strict=True)}
    example = tuple(map(torch.rand, fits))
    module = frontend.export(program, dynamic_shapes=shapes)(*example).graph_module
    module(*(torch.rand(3 * size) for size in fits))
    with pytest.raises(RuntimeError):
        module(*map(torch.rand, misfits))
    torch.export.export(module, example, dynamic_shapes=tuple(shapes.values()))
    with pytest.raises(frontend.ExportError, match=r"dynamic_shapes calls dimension 0 of x '2\*b'"):
        frontend.export(program, dynamic_shapes=shapes)(*map(torch.rand, misfits))


def test_one_name_with_two_definitions_is_refused():
    shapes = ({0: Dim("b", max=9)}, {0: Dim("b", max=8)})
    with pytest.raises(
        frontend.ExportError, match="defines 'b' twice: .*dimension 0 of x, .*dimension 0 of y"
    ):
        frontend.export(lambda x, y: (x, y), dynamic_shapes=shapes)(torch.rand(5), torch.rand(5))
