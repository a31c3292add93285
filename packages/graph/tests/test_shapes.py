"""Symbolic sizes and numbers: what is decided becomes a guard that accepts and refuses the right values."""

import math
import operator

import pytest
import torch

from framesmith.graph import (
    Dim,
    DynamicDims,
    GraphBreak,
    GraphOptions,
    NumbersNeeded,
    Recorder,
    example,
    text,
)
from framesmith.guards import Scope
from framesmith.guards.kinds import ShapeExpression
from framesmith.guards.sources.roots import Local

X, Y, N = Local("x"), Local("y"), Local("n")
SIX, THREE, OTHER, FIVE = torch.zeros(6, 4), torch.zeros(3, 4), torch.zeros(6, 4), torch.tensor(5)
SIX2 = SIX.clone()


def accepts(guards, **values):
    scope = Scope(values, {})
    return all(claim.holds([source.read(scope) for source in claim.all_sources]) for claim in guards)


def trace(body, **options):
    """Runs body(recorder), which returns the outputs; gives (recorder, compiled, guards)."""
    recorder = Recorder(GraphOptions(**options))
    with recorder:
        compiled = recorder.finish(body(recorder))
        claims = (guard.claim for guard in recorder.explain_shape_guards())
        return recorder, compiled, [claim for claim in claims if isinstance(claim, ShapeExpression)]


def sized(*shape):
    return torch.zeros(*shape)


def test_a_decision_on_a_size_becomes_a_guard():
    def body(recorder):
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        assert example(x).shape[0] > 5
        assert example(x).shape[0] % 2 == 0
        return [recorder.call("call_method", "sin", (x,))]

    _, _, guards = trace(body)
    assert [accepts(guards, x=sized(rows, 4)) for rows in (4, 6, 7, 8, 100)] == [
        False,
        True,
        False,
        True,
        True,
    ]


def test_sizes_found_equal_are_guarded_together():
    def body(recorder):
        x, y = (recorder.tensor_input(s, v, DynamicDims.of(0)) for s, v in ((X, SIX), (Y, SIX2)))
        return [recorder.call("call_function", torch.add, (x, y))]

    _, _, guards = trace(body)
    assert accepts(guards, x=sized(9, 4), y=sized(9, 4))
    assert not accepts(guards, x=sized(9, 4), y=sized(8, 4))


def test_a_relation_between_sizes_is_guarded():
    def body(recorder):
        x, y = (recorder.tensor_input(s, v, DynamicDims.of(0)) for s, v in ((X, SIX), (Y, THREE)))
        assert example(x).shape[0] == 2 * example(y).shape[0]
        return [recorder.call("call_method", "sin", (x,))]

    _, _, guards = trace(body)
    assert accepts(guards, x=sized(8, 4), y=sized(4, 4))
    assert not accepts(guards, x=sized(8, 4), y=sized(5, 4))


def test_without_decisions_only_zero_and_one_are_refused():
    _, _, guards = trace(
        lambda recorder: [
            recorder.call("call_method", "sin", (recorder.tensor_input(X, SIX, DynamicDims.of(0)),))
        ]
    )
    assert [accepts(guards, x=sized(rows, 4)) for rows in (0, 1, 2, 1000)] == [False, False, True, True]


def test_a_size_that_got_fixed_is_guarded_and_named():
    def body(recorder):
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        z = recorder.tensor_input(Local("z"), OTHER)
        return [recorder.call("call_function", torch.add, (x, z))]

    recorder, _, guards = trace(body)
    assert [(fixed.source.text(), fixed.value) for fixed in recorder.specialized()] == [("x.size(0)", 6)]
    assert accepts(guards, x=sized(6, 4))
    assert not accepts(guards, x=sized(7, 4))


def test_strides_and_layouts_are_guarded():
    strided = torch.zeros(6, 8)[:, ::2].detach()
    _, _, guards = trace(
        lambda recorder: [
            recorder.call("call_method", "sin", (recorder.tensor_input(X, strided, DynamicDims.all()),))
        ]
    )
    assert accepts(guards, x=torch.zeros(5, 10)[:, ::2].detach())
    assert not accepts(guards, x=torch.zeros(10, 10)[:, ::2].t().detach())


def test_duck_shapes_share_a_symbol():
    def body(recorder):
        x, y = (recorder.tensor_input(s, v, DynamicDims.of(0)) for s, v in ((X, SIX), (Y, SIX2)))
        assert str(example(x).shape[0]) == str(example(y).shape[0])
        return [recorder.call("call_method", "sin", (x,)), recorder.call("call_method", "sin", (y,))]

    _, _, guards = trace(body, duck_shapes=True)
    assert accepts(guards, x=sized(9, 4), y=sized(9, 4))
    assert not accepts(guards, x=sized(9, 4), y=sized(8, 4))


def test_an_int_is_symbolic_even_at_zero_and_one():
    def body(recorder):
        n = recorder.number_input(N, 1)
        assert type(example(n)) is torch.SymInt
        return [recorder.call("call_function", operator.mul, (recorder.tensor_input(X, SIX), n))]

    _, compiled, guards = trace(body)
    assert [accepts(guards, n=n) for n in (-1, 0, 1, 7)] == [True] * 4
    values = {X: SIX + 1, N: 3}
    assert torch.equal(compiled.call(*(values[source] for source in compiled.inputs))[0], (SIX + 1) * 3)


def test_a_decision_on_a_number_is_guarded():
    def body(recorder):
        n, f = recorder.number_input(N, 3), recorder.number_input(Local("f"), 0.5)
        assert example(n) != 4
        assert example(f) < 1
        assert torch.sym_sqrt(example(f)) < 3
        x = recorder.tensor_input(X, SIX)
        return [
            recorder.call(
                "call_function", operator.mul, (recorder.call("call_function", operator.mul, (x, n)), f)
            )
        ]

    _, _, guards = trace(body)
    assert accepts(guards, n=5, f=0.25)
    assert not accepts(guards, n=4, f=0.25)
    assert not accepts(guards, n=5, f=1.5)
    assert not accepts(guards, n=5, f=math.nan)


def test_expressions_over_sizes_are_written_into_the_graph():
    def body(recorder):
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        size = example(x).shape[0]
        return [
            recorder.call("call_function", torch.arange, ((size * 2 + 1) // 3,)),
            recorder.symbolic(size - 1),
        ]

    _, compiled, _ = trace(body)
    numbers, less = compiled.call(10) if len(compiled.inputs) == 1 else compiled.call(sized(10, 4), 10)
    assert (len(numbers), less) == (7, 9)


def test_a_number_that_turned_out_fixed_is_a_constant():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        size = example(x).shape[0]
        assert size == 6
        assert recorder.symbolic(size + 1) == 7


def test_unknown_numbers_are_captured_and_asserted():
    def body(recorder):
        x = recorder.tensor_input(X, FIVE)
        number = recorder.call("call_method", "item", (x,))
        torch._check(example(number) < 100)
        return [recorder.call("call_function", torch.ones, (number,))]

    _, compiled, _ = trace(body, capture_scalar_outputs=True)
    assert compiled.call(torch.tensor(9))[0].shape == (9,)
    with pytest.raises(RuntimeError, match="u0 < 100|u0 <= 99"):
        compiled.call(torch.tensor(200))


def test_a_decision_on_an_unknown_number_breaks():
    with Recorder(GraphOptions(capture_scalar_outputs=True)) as recorder:
        number = recorder.call("call_method", "item", (recorder.tensor_input(X, FIVE),))
        with pytest.raises(GraphBreak) as caught:
            recorder.call("call_function", bool, (recorder.symbolic(example(number) > 3),))
    assert caught.value.kind.id == "data-dependent-guard"


def test_unknown_sizes_are_captured():
    def body(recorder):
        found = recorder.call("call_method", "nonzero", (recorder.tensor_input(X, FIVE),))
        return [recorder.call("call_function", torch.ones, (example(found).shape[0],))]

    _, compiled, _ = trace(body, capture_dynamic_output_shape_ops=True)
    assert compiled.call(torch.tensor(9))[0].shape == (1,)


def test_an_unbacked_size_is_never_fixed():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, SIX, DynamicDims(dims={0: Dim.UNBACKED}))
        with pytest.raises(GraphBreak, match="data-dependent-guard"):
            recorder.call("call_function", bool, (recorder.symbolic(example(x).shape[0] > 5),))


def test_the_reason_names_the_users_line():
    with Recorder() as recorder:
        recorder.locate(lambda: ("model.py", 12, "forward"))
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        assert example(x).shape[0] % 3 == 0
        recorder.finish([recorder.call("call_method", "sin", (x,))])
        guards = recorder.explain_shape_guards()
    reasons = [guard.reason.user_frame for guard in guards if "%" in guard.claim.template]
    assert "model.py:12" in reasons[0]


def test_text_shows_symbols():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, SIX, DynamicDims.of(0))
        assert text(recorder.graph) == f"l_x_: float32[{example(x).shape[0]}, 4] = input"


def test_an_operation_that_reads_a_number_out_of_a_tensor_says_so_and_leaves_nothing():
    def body(recorder):
        x, n = recorder.tensor_input(X, SIX, DynamicDims.none()), recorder.tensor_input(N, FIVE)
        for target, args in ((torch.narrow, (x, 0, n, 1)), (operator.getitem, (x, n)), (torch.zeros, (n,))):
            with pytest.raises(NumbersNeeded) as caught:
                recorder.call("call_function", target, args)
            assert caught.value.tensors == (example(n),) and recorder.operations == 0
        return [recorder.call("call_method", "item", (n,))]

    trace(body, capture_scalar_outputs=True)


def test_an_operation_on_symbolic_sizes_keeps_them():
    image = torch.zeros(1, 3, 8, 10)

    def body(recorder):
        x = recorder.tensor_input(X, image, DynamicDims.of(2, 3))
        node = recorder.call("call_function", torch.nn.functional.interpolate, (x,), {"scale_factor": 2})
        assert all(isinstance(size, torch.SymInt) for size in example(node).shape[2:])
        return [node]

    _, _, guards = trace(body)
    assert accepts(guards, x=sized(1, 3, 12, 6))
