"""Operations recorded again on other operands, their fakes, and shared subgraphs of them."""

import operator

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from framesmith.graph import Recorder
from framesmith.graph.backends.unused_operations import _may_drop
from framesmith.graph.fakes.metadata_changes import MetadataChanges, metadata_of
from framesmith.graph.fakes.new_fakes import NewFakes
from framesmith.graph.nodes.arguments import example
from framesmith.graph.passes.outline import outline
from framesmith.graph.recording.repetition import Stacks
from framesmith.guards.sources import Local

INVOKE = torch.ops.higher_order.invoke_subgraph


def layer(recorder, x, weight):
    """Four operations; the last one is returned."""
    y = recorder.call("call_function", torch.matmul, (x, weight))
    y = recorder.call("call_function", torch.relu, (y,))
    y = recorder.call("call_method", "transpose", (y, 0, 1))
    return recorder.call("call_function", operator.add, (y, x))


def repeated(weights, body=layer):
    """A recorder in which the body was recorded for the first weight and repeated for the others; the last result."""
    recorder, given = Recorder(), torch.randn(3, 3)
    with recorder:
        x = recorder.tensor_input(Local("x"), given)
        nodes = [recorder.tensor_input(Local(f"w{i}"), weight) for i, weight in enumerate(weights)]
        start = recorder.length()
        last = first = body(recorder, x, nodes[0])
        stretch = recorder.stretch(start, recorder.length())
        for weight in nodes[1:]:
            made = recorder.repeat(stretch, {x: last, nodes[0]: weight}, [first], Stacks("", ""))
            last = made[first]
        compiled = recorder.finish([last])
    return recorder, compiled, first, last


def parameters(count):
    return [torch.nn.Parameter(torch.randn(3, 3)) for _ in range(count)]


def test_repeated_operations_compute_what_the_body_does():
    weights = [weight.detach() for weight in parameters(3)]
    _, compiled, _, _ = repeated(weights)
    x = torch.randn(3, 3)
    expected = x
    for weight in weights:
        expected = torch.relu(expected @ weight).t() + expected
    assert torch.equal(compiled.call(x, *weights)[0], expected)


def test_a_copied_fake_has_the_metadata_of_the_first_and_a_history():
    _, _, first, last = repeated(parameters(2))
    one, other = example(first), example(last)
    assert one is not other
    assert (one.shape, one.stride(), one.dtype, one.device) == (
        other.shape,
        other.stride(),
        other.dtype,
        other.device,
    )
    assert other.requires_grad and not other.is_leaf


def test_views_among_copied_fakes_share_memory_as_the_first_do():
    recorder, compiled, _, _ = repeated(parameters(2))
    nodes = [node for node in compiled.graph_module.graph.nodes if node.op not in ("placeholder", "output")]
    storages = [example(node).untyped_storage()._cdata for node in nodes]
    for start in (0, 4):  # matmul, relu, transpose of relu, add
        assert storages[start + 1] == storages[start + 2]
        assert len(set(storages[start : start + 4])) == 3


def test_operations_that_write_are_run_again():
    def writing(recorder, x, weight):
        y = recorder.call("call_function", torch.matmul, (x, weight))
        return recorder.call("call_method", "add_", (y, 1))

    _, compiled, _, last = repeated([torch.randn(3, 3), torch.randn(3, 3)], writing)
    assert example(last)._version == 1


def outlined(body=layer, count=3):
    weights = [weight.detach() for weight in parameters(count)]
    recorder, compiled, first, last = repeated(weights, body)
    return compiled, outline(compiled.graph_module, recorder._repetition.groups()), weights


def test_repeated_operations_become_calls_of_one_subgraph():
    compiled, module, weights = outlined()
    calls = [node for node in module.graph.nodes if node.target is INVOKE]
    assert len(calls) == 3 and len({node.args[0] for node in calls}) == 1
    x = torch.randn(3, 3)
    assert torch.equal(module(x, *weights)[0], compiled.graph_module(x, *weights)[0])


def writes(recorder, x, weight):
    y = recorder.call("call_function", torch.matmul, (x, weight))
    y = recorder.call("call_method", "add_", (y, 1))
    y = recorder.call("call_function", torch.relu, (y,))
    return recorder.call("call_function", torch.relu, (y,))


def draws(recorder, x, weight):
    return recorder.call("call_function", torch.nn.functional.dropout, (layer(recorder, x, weight), 0.5))


def returns_a_view(recorder, x, weight):
    return recorder.call("call_method", "view", (layer(recorder, x, weight), 3, 3))


def is_short(recorder, x, weight):
    return recorder.call("call_function", torch.matmul, (x, weight))


@pytest.mark.parametrize("body", [writes, draws, is_short])
def test_operations_that_a_subgraph_may_not_have_stay_flat(body):
    compiled, module, _ = outlined(body)
    assert module is compiled.graph_module


def test_a_view_that_is_returned_belongs_to_the_subgraph_that_made_its_memory():
    compiled, module, weights = outlined(returns_a_view)
    x = torch.randn(3, 3)
    assert torch.equal(module(x, *weights)[0], compiled.graph_module(x, *weights)[0])


def test_the_flat_graph_stays_as_it_is():
    compiled, _, _ = outlined()
    assert isinstance(compiled.graph_module, fx.GraphModule)
    assert not any(node.target is INVOKE for node in compiled.graph_module.graph.nodes)


def test_a_fake_made_quickly_is_like_one_of_the_constructor():
    mode = FakeTensorMode()
    fakes, x = NewFakes(mode), torch.randn(3, 4).t()
    fakes.like(x)  # the first one comes from torch
    for requires_grad in (False, True):
        quick = fakes.like(x, requires_grad=requires_grad)
        plain = torch.empty_strided(x.shape, x.stride(), device="meta")
        usual = FakeTensor(mode, plain, x.device, requires_grad=requires_grad)
        assert vars(quick) == vars(usual)
        assert (quick.shape, quick.stride(), quick.device, quick.is_leaf) == (
            x.shape,
            x.stride(),
            x.device,
            True,
        )
        assert quick.requires_grad is requires_grad
        assert torch._C._dispatch_keys(quick).raw_repr() == torch._C._dispatch_keys(usual).raw_repr()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.resize_(2, 3),
        lambda x: x.requires_grad_(),
        lambda x: x.mul_(torch.ones(3, 3, requires_grad=True)),
        lambda x: x.set_(torch.zeros(3, 3)),
        lambda x: setattr(x, "data", torch.zeros(3, 3)),
    ],
)
def test_other_forms_are_noticed_and_other_contents_are_not(change):
    changes, x, other = MetadataChanges.none(), torch.randn(3, 3), torch.randn(3, 3)
    view, before = x.view(9), [metadata_of(x), metadata_of(other)]
    x.add_(1)
    changes.note([x, other], before)
    assert changes.count == 0
    change(x)
    changes.note([x, other], before)
    assert changes.concern([x], 0) and changes.concern([view], 0)
    assert not changes.concern([other], 0) and not changes.concern([x], changes.count)


def test_what_draws_or_may_raise_is_asked_of_the_first_one_alone():
    asked = []

    def counts(node):
        asked.append(node)
        return False

    recorder, compiled, _, _ = repeated([weight.detach() for weight in parameters(4)])
    graph, copies = compiled.graph_module.graph, recorder._repetition.copies
    assert not _may_drop(graph, (), counts, copies)
    assert len(copies) == 3 * 4 and len({copies.get(node, node) for node in asked}) == len(asked) == 4


def test_a_repeated_operation_that_may_raise_is_found_by_the_first_one():
    def inverts(recorder, x, weight):
        y = recorder.call("call_function", torch.linalg.inv, (weight,))
        return layer(recorder, layer(recorder, x, y), weight)

    recorder, compiled, _, _ = repeated([weight.detach() for weight in parameters(3)], inverts)
    copies = recorder._repetition.copies
    assert len(copies) == 2 * 9
    assert _may_drop(compiled.graph_module.graph, (), lambda node: False, copies)


def test_a_repetition_that_is_refused_in_its_midst_leaves_nothing():
    class Refuses:
        def before_recording(self):
            pass

        def after_recording(self, node):
            if len(seen) == 2:
                raise ValueError
            seen.append(node)

    seen, recorder, given = [], Recorder(), {name: torch.randn(3, 3) for name in "xw"}
    with recorder:
        x, w = (recorder.tensor_input(Local(name), value) for name, value in given.items())
        first = layer(recorder, x, w)
        stretch, length = recorder.stretch(2, recorder.length()), recorder.length()
        recorder.has_changes, recorder.fallible = True, Refuses()
        with pytest.raises(ValueError):
            recorder.repeat(stretch, {x: first, w: w}, [first], Stacks("", ""))
        assert recorder.length() == length and recorder.operations == 4
        assert all(node._erased for node in seen)
