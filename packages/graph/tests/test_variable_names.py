"""Operations are named after the first variable that they are bound to."""

import torch

from framesmith.graph import Recorder
from framesmith.graph.recording.repetition import Stacks
from framesmith.guards.sources import Local

X, ONES = Local("x"), torch.ones(2)


def names(recorder):
    return [node.name for node in recorder.graph.nodes]


def test_the_first_variable_names_an_operation_and_none_an_input():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, ONES)
        added = recorder.call("call_function", torch.add, (x, 1))
        for variable in ("total", "other"):
            recorder.variables.bind(added, variable)
            recorder.variables.bind(x, variable)
        for variable in ("total", "self", "list", "añadir"):
            recorder.variables.bind(recorder.call("call_function", torch.add, (x, 1)), variable)
        assert names(recorder) == ["l_x_", "total", "total_1", "self_1", "list_1", "a_adir"]
        compiled = recorder.finish([*recorder.graph.nodes][1:])
    assert [one.tolist() for one in compiled.call(ONES)] == [[2.0, 2.0]] * 5


def test_a_write_that_gives_its_operand_is_named():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, ONES)
        recorder.call("call_method", "add_", (x, 1))
        recorder.variables.bind(x, "total")
        assert names(recorder) == ["l_x_", "total"]


def test_a_repeated_call_has_the_names_that_were_given_in_it():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, ONES)
        first = recorder.call("call_function", torch.sin, (x,))
        recorder.variables.bind(first, "inside")
        second = recorder.call("call_function", torch.cos, (first,))
        given = recorder.variables.given
        recorder.variables.bind(second, "outside")
        made = recorder.repeat([first, second], {x: second}, [second], Stacks("", "", names_given=given))
        assert names(recorder) == ["l_x_", "inside", "outside", "inside_1", "cos_1"]
        recorder.variables.bind(made[second], "next")
        assert names(recorder)[-1] == "next_1"  # a builtin
