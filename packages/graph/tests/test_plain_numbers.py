"""Numbers of a graph that Python computes while it runs, and those that stay tensors."""

import operator

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.python_numbers import numbers, plain_numbers
from framesmith.graph.python_numbers.number_calls import with_numbers
from framesmith.graph.python_numbers.plain_numbers import use_plain_numbers
from framesmith.graph.replacing_backends import OperationsReplaced


def one_step(*, other_user: bool = False) -> tuple[fx.Graph, list[fx.Node]]:
    """`x.mul_(1 - 0.9 ** step)`; with `other_user` the number is also an operand that torch takes as a tensor."""
    graph = fx.Graph()

    def add(function: object, *args: object, example: torch.Tensor) -> fx.Node:
        node = graph.call_function(function, args)
        node.meta[EXAMPLE] = example
        return node

    number = torch.tensor(1.0, dtype=torch.float64)
    x, step = graph.placeholder("x"), graph.placeholder("step")
    x.meta[EXAMPLE], step.meta[EXAMPLE] = torch.ones(2), torch.tensor(1.0)
    read = add(numbers.as_number, step, example=number)
    raised = add(numbers.power, 0.9, read, example=number)
    rest = add(operator.sub, 1, raised, example=number)
    done = add(with_numbers(torch.Tensor.mul_, True), (1,), (x, rest), {}, example=torch.ones(2))
    more = [add(torch.add, x, rest, example=torch.ones(2))] if other_user else []
    graph.output((done, *more)).meta[EXAMPLE] = None
    return graph, [read, raised, rest]


def run(graph: fx.Graph, step: float) -> torch.Tensor:
    module = fx.GraphModule(torch.nn.Module(), graph)
    result: torch.Tensor = module(torch.ones(2), torch.tensor(step))[0]
    return result


@pytest.mark.parametrize("step", [1.0, 3.0])
def test_python_computes_what_only_reading_operations_use(step: float) -> None:
    graph, (read, raised, _) = one_step()
    expected = run(graph, step)
    use_plain_numbers(graph, set())
    assert read.target is plain_numbers.as_number
    assert raised.target is plain_numbers.power
    assert torch.equal(run(graph, step), expected)
    assert torch.equal(expected, torch.ones(2) * (1 - 0.9**step))


def test_a_number_that_an_operation_takes_as_a_tensor_stays_one() -> None:
    graph, (_, raised, rest) = one_step(other_user=True)
    expected = run(graph, 2.0)
    use_plain_numbers(graph, set())
    assert rest.target is operator.sub
    assert raised.target is numbers.power
    assert torch.equal(run(graph, 2.0), expected)


def test_a_result_stays_a_tensor_unless_it_is_only_kept() -> None:
    for kept in (False, True):
        graph, (_, raised, rest) = one_step()
        output = graph.output_node()
        output.args = ((*output.args[0], rest),)
        use_plain_numbers(graph, {rest} if kept else set())
        assert (raised.target is plain_numbers.power) is kept


def test_no_number_is_read_while_something_traces_the_graph() -> None:
    graph, _ = one_step()
    use_plain_numbers(graph, set())
    module = fx.GraphModule(torch.nn.Module(), graph)
    with pytest.raises(OperationsReplaced):
        make_fx(module)(torch.ones(2), torch.tensor(1.0))
