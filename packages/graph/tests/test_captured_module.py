"""A captured graph with repeated stretches: it runs by a short function, and shows the text and the graph that fx would."""

import copy
import gc
import operator
import pickle
import sys
import weakref

import pytest
import torch
from torch import fx

from framesmith.graph import Recorder
from framesmith.graph.recording.repetition import Stacks
from framesmith.graph.running.captured_module import run_form_of
from framesmith.guards.sources import Local

X = torch.full((3, 3), 0.5, dtype=torch.float64)


def layer(recorder, x, weight):
    """A list argument, a dtype, a switch, a method, a tuple of results, a slice; the last result is returned."""
    y = recorder.call("call_function", torch.cat, ([x, weight],))
    y = recorder.call("call_method", "to", (y, torch.float64))
    recorder.call("call_function", torch._C._set_grad_enabled, (False,))
    parts = recorder.call("call_method", "chunk", (y, 2))
    recorder.call("call_function", torch._C._set_grad_enabled, (True,))
    one = recorder.call("call_function", operator.getitem, (parts, 0))
    two = recorder.call("call_function", operator.getitem, (parts, 1))
    y = recorder.call("call_function", torch.linalg.solve, (two, one))
    y = recorder.call("call_function", operator.getitem, (y, (slice(0, 3), ...)))
    return recorder.call("call_function", torch.clamp, (y,), {"min": float("-inf"), "max": 2.5})


def captured(count, body=layer, outputs=1):
    """The captured graph of a body that was recorded for one weight and repeated for the others."""
    recorder = Recorder()
    weights = [torch.eye(3, dtype=torch.float64) + number for number in range(count)]
    with recorder:
        x = recorder.tensor_input(Local("x"), X)
        nodes = [recorder.tensor_input(Local(f"w{i}"), weight) for i, weight in enumerate(weights)]
        start = recorder.length()
        first = body(recorder, x, nodes[0])
        stretch = recorder.stretch(start, recorder.length())
        made = [first]
        for weight in nodes[1:]:
            again = recorder.repeat(stretch, {x: made[-1], nodes[0]: weight}, [first], Stacks("", ""))
            made.append(again[first])
        compiled = recorder.finish(made[-outputs:])
    return compiled, [X, *weights]


def plain(module):
    """What fx makes of the graph."""
    return fx.GraphModule(module, module.graph, "FramesmithGraph")


def same(one, other):
    return all(torch.equal(left, right) for left, right in zip(one, other, strict=True))


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_the_short_function_computes_what_the_text_of_fx_does(outputs):
    compiled, given = captured(5, outputs=outputs)
    assert run_form_of(compiled.graph_module) is not None
    assert same(compiled.call(*given), plain(compiled.graph_module)(*given))


def test_the_text_is_that_of_fx():
    module = captured(5)[0].graph_module
    assert module.code == plain(module).code
    assert module.print_readable(print_output=False) == plain(module).print_readable(print_output=False)


def test_nobody_writes_the_text_of_a_graph_that_is_only_run(monkeypatch):
    monkeypatch.setattr(fx.Graph, "python_code", None)
    compiled, given = captured(5)
    compiled.call(*given)


def test_few_repetitions_have_no_function_of_their_own():
    compiled, given = captured(2)
    form = run_form_of(compiled.graph_module)
    assert form is not None
    assert not form.functions
    assert same(compiled.call(*given), plain(compiled.graph_module)(*given))


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_those_of_fx(again):
    compiled, given = captured(5)
    module = again(compiled.graph_module)
    assert run_form_of(module) is None
    assert same(module(*given), compiled.call(*given))
    assert same(compiled.graph_module(*given), module(*given))


def test_a_changed_graph_runs_as_changed_after_recompile():
    compiled, given = captured(5)
    module = compiled.graph_module
    last = module.graph.output_node().args[0][0]
    last.kwargs = {"min": 7.0}
    assert same(module(*given), compiled.call(*given))
    module.recompile()
    assert torch.equal(module(*given)[0], torch.full((3, 3), 7.0).double())


def test_hooks_of_the_module_run():
    compiled, given = captured(5)
    compiled.graph_module.register_forward_hook(lambda module, args, result: "hooked")
    assert compiled.graph_module(*given) == "hooked"


def keeper(recorder, x, weight):
    """The value of the first operation is used by the last one only."""
    kept = recorder.call("call_function", torch.sub, (x, weight))
    y = recorder.call("call_function", operator.add, (kept, weight))
    y = recorder.call("call_function", PROBE, (y,))
    return recorder.call("call_function", operator.mul, (y, kept))


def PROBE(x):
    """Notes what is alive; a fake is no number."""
    if type(x) is torch.Tensor:
        alive.append(sum(one() is not None for one in seen))
        seen.append(weakref.ref(x))
    return x * 1.0


alive, seen = [], []


def test_values_are_dropped_after_their_last_use():
    seen.clear()
    alive.clear()
    compiled, given = captured(6, keeper)
    assert run_form_of(compiled.graph_module) is not None
    compiled.call(*given)
    assert alive == [0] * 6


def test_names_do_not_collide_with_those_of_the_function():
    recorder = Recorder()
    with recorder:
        x = recorder.tensor_input(Local("framesmith_stretch_0"), X)
        y = recorder.tensor_input(Local("_framesmith_0"), X)
        start = recorder.length()
        last = first = keeper_without_probe(recorder, x, y)
        stretch = recorder.stretch(start, recorder.length())
        for _ in range(4):
            last = recorder.repeat(stretch, {x: last, y: y}, [first], Stacks("", ""))[first]
        compiled = recorder.finish([last])
    assert run_form_of(compiled.graph_module) is not None
    assert same(compiled.call(X, X), plain(compiled.graph_module)(X, X))


def keeper_without_probe(recorder, x, weight):
    y = recorder.call("call_function", torch.sub, (x, weight))
    y = recorder.call("call_function", torch.relu, (y,))
    return recorder.call("call_function", operator.add, (y, x))


def test_the_module_dies_with_its_last_reference():
    compiled, _ = captured(5)
    module = weakref.ref(compiled.graph_module)
    del compiled
    gc.collect()
    assert module() is None


def fragile(recorder, x, weight):
    """The second operation raises on a singular matrix."""
    y = recorder.call("call_function", operator.matmul, (x, weight))
    y = recorder.call("call_function", torch.linalg.inv, (y,))
    return recorder.call("call_function", operator.add, (y, x))


@pytest.mark.parametrize("place", range(5))
def test_a_failure_is_found_in_its_stretch(place):
    compiled, given = captured(5, fragile)
    flat = plain(compiled.graph_module)
    given = [torch.eye(3).double()] * 6
    given[place + 1] = torch.zeros(3, 3).double()
    found = []
    for call in (compiled.call, flat.forward):
        with pytest.raises(RuntimeError) as caught:
            call(*given)
        failures = (
            compiled.failures
            if call is compiled.call
            else type(compiled.failures)(flat, compiled.failures.start)
        )
        found.append(failures.find(caught.value, lambda: given))
    assert (found[0].step, found[0].number, found[0].began) == (
        found[1].step,
        found[1].number,
        found[1].began,
    )
    known = found[1].known.items()
    assert all(torch.equal(found[0].known[number], value) for number, value in known)


def test_operators_of_python_are_written_as_such():
    recorder = Recorder()
    with recorder:
        x = recorder.tensor_input(Local("x"), X)
        last = recorder.call("call_function", operator.neg, (x,))
        for function, other in ((operator.sub, -1), (operator.truediv, -2.0), (operator.getitem, (0, None))):
            last = recorder.call("call_function", function, (last, other))
        last = recorder.call("call_function", operator.lt, (last, -0.25))
        compiled = recorder.finish([last])
    calls = []
    sys.setprofile(lambda frame, event, called: calls.append(called) if event == "c_call" else None)
    try:
        (found,) = compiled.call(X)
    finally:
        sys.setprofile(None)
    assert torch.equal(found, (-X - -1)[0, None] / -2.0 < -0.25)
    assert not any(getattr(one, "__module__", None) == "_operator" for one in calls)
