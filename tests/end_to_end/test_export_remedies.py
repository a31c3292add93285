"""`export`: what an error about a size or number that was declared to differ tells the user to do."""

import pytest
import torch
from torch.export import Dim

from framesmith import frontend


def fixed(x):
    return x + 1 if x.shape[0] == 6 else x


def narrowed(x):
    return x + 1 if x.shape[0] < 8 else x


def numbered(x, n):
    return sum([x] * n)


def marked(tensor):
    frontend.mark_dynamic(tensor, 0)
    return tensor


OF_MARK, OF_DECLARATION = "maybe_mark_dynamic", "torch.export.Dim.AUTO"


def refuse(program, *args, shapes=None):
    with pytest.raises(frontend.DynamicSizeFixed) as caught:
        frontend.export(program, dynamic_shapes=shapes)(*args)
    return str(caught.value)


@pytest.mark.parametrize("size", [Dim("b"), Dim.DYNAMIC])
def test_a_declared_size_that_is_fixed_may_be_declared_otherwise(size):
    message = refuse(fixed, torch.rand(6), shapes=({0: size},))
    assert "breaks what dynamic_shapes says" in message and OF_DECLARATION in message
    assert OF_MARK not in message and "allow_ignore" not in message
    module = frontend.export(fixed, dynamic_shapes=({0: Dim.AUTO},))(torch.rand(6)).graph_module
    assert module(torch.rand(6)).shape == (6,)


def test_an_int_that_is_fixed_may_be_declared_otherwise():
    message = refuse(numbered, torch.rand(6), 2, shapes=(None, Dim.DYNAMIC))
    assert OF_DECLARATION in message and OF_MARK not in message


def test_a_marked_size_that_is_fixed_may_be_marked_otherwise():
    message = refuse(fixed, marked(torch.rand(6)))
    assert "breaks what mark_dynamic says" in message and OF_MARK in message and OF_DECLARATION not in message
    both = refuse(
        lambda x, y: fixed(x) + y, torch.rand(6), marked(torch.rand(6)), shapes=({0: Dim("b")}, None)
    )
    assert OF_MARK in both and OF_DECLARATION in both


ASKED = {
    "fixed": (fixed, (torch.rand(6),), ({0: Dim.AUTO},), (torch.rand(5),)),
    "narrowed": (narrowed, (torch.rand(6),), ({0: Dim("b")},), (torch.rand(9),)),
    "a number": (numbered, (torch.rand(6), 2), (None, Dim.AUTO), (torch.rand(6), 3)),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_later_call_is_not_told_to_declare_what_was_declared(name):
    program, example, shapes, given = ASKED[name]
    exported = frontend.export(program, dynamic_shapes=shapes)(*example)
    for call in (exported, exported.graph_module):
        with pytest.raises(RuntimeError) as caught:
            call(*given)
        assert "in dynamic_shapes" not in str(caught.value)
    with pytest.raises(frontend.ExportError, match="asks for this of what was declared to differ"):
        exported(*given)


@pytest.mark.parametrize("given", [torch.rand(6, 4), torch.rand(6, 3).double()])
def test_what_was_not_declared_can_be(given):
    exported = frontend.export(lambda x: x + 1, dynamic_shapes=({0: Dim("b")},))(torch.rand(6, 3))
    for call in (exported, exported.graph_module):
        with pytest.raises(frontend.ExportError, match="declare what differs in dynamic_shapes"):
            call(given)


def decorated():
    return torch.no_grad()(narrowed)


@pytest.mark.parametrize("program", [narrowed, decorated()])
def test_the_module_names_the_size_that_does_not_fit(program):
    module = frontend.export(program, dynamic_shapes=({0: Dim("b")},))(torch.rand(6)).graph_module
    with pytest.raises(
        RuntimeError,
        match=r"exported for other arguments: 2 <= x\.size\(0\) <= 7 does not hold; the program asks",
    ):
        module(torch.rand(9))
    again = torch.export.export(module, (torch.rand(6),), dynamic_shapes=({0: Dim.AUTO},))
    assert again.module()(torch.rand(5)).shape == (5,)


def test_the_module_names_sizes_that_are_not_as_they_were_declared():
    shapes = ({0: Dim("b")}, {0: Dim("b") + 1})
    module = frontend.export(lambda x, y: (x, y + 1), dynamic_shapes=shapes)(
        torch.rand(4), torch.rand(5)
    ).graph_module
    with pytest.raises(
        RuntimeError, match=r"dimension 0 of x 'b' and dimension 0 of y 'b \+ 1': these sizes are not"
    ):
        module(torch.rand(4), torch.rand(4))
