"""Backends: the ones that are always there, registered ones, and what goes wrong."""

import operator
import pathlib
from importlib.metadata import EntryPoint

import pytest
import torch
from torch import fx

from framesmith.graph import (
    BackendFailed,
    Dim,
    DynamicDims,
    GraphBreak,
    GraphOptions,
    Recorder,
    UnknownBackend,
    example,
    list_backends,
    register_backend,
)
from framesmith.graph.backends import backend
from framesmith.graph.running.failed_graphs import describe_graph, graph_folder
from framesmith.guards.sources.roots import Local

X, P, N = Local("x"), Local("p"), Local("n")
VALUE = torch.randn(3, 4)
FIVE = torch.tensor(5)
COPY, WEIGHT = VALUE.clone(), torch.nn.Parameter(torch.randn(4))
DIFFERENTIATING = ["aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)]


def layer(recorder, dynamic=None):
    x, p = recorder.tensor_input(X, VALUE, dynamic), recorder.tensor_input(P, WEIGHT)
    product = recorder.call("call_function", torch.mul, (x, p))
    total = recorder.call("call_method", "sum", (recorder.call("call_method", "sigmoid", (product,)),))
    return [recorder.call("call_function", operator.truediv, (total, example(x).shape[0]))]


def compiled_by(name, body, **options):
    with Recorder(GraphOptions(backend=name, **options)) as recorder:
        return recorder.finish(body(recorder))


def call(compiled, **values):
    scope = {"x.size(0)": values["x"].shape[0], **values} if "x" in values else values
    return compiled.call(*(scope[source.text()] for source in compiled.inputs))


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_gradients_reach_parameters(name):
    compiled = compiled_by(name, layer)
    check_gradients(compiled, torch.randn(3, 4))


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_gradients_with_dynamic_sizes(name):
    compiled = compiled_by(name, lambda recorder: layer(recorder, DynamicDims.of(0)))
    for rows in (2, 3, 7):
        check_gradients(compiled, torch.randn(rows, 4))


def check_gradients(compiled, x):
    weight = torch.nn.Parameter(torch.randn(4))
    (found,) = call(compiled, x=x, p=weight)
    found.backward()
    got, weight.grad = weight.grad, None
    expected = (x * weight).sigmoid().sum() / x.shape[0]
    expected.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(got, weight.grad)


def writing(recorder):
    x = recorder.tensor_input(X, COPY)
    recorder.call("call_method", "add_", (x, 1))
    row = recorder.call("call_function", operator.getitem, (x, 0))
    recorder.call("call_method", "mul_", (row, 2))
    recorder.call("call_method", "t_", (x,))
    return [recorder.call("call_method", "sum", (x,)), row]


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_inputs_are_written_to_and_views_are_views(name):
    compiled = compiled_by(name, writing)
    given, expected = torch.ones(3, 4), torch.ones(3, 4)
    total, row = call(compiled, x=given)
    expected.add_(1)[0].mul_(2)
    assert compiled.mutated == (X,)
    assert torch.equal(given, expected.t())
    assert total == expected.sum()
    given.zero_()
    assert row.tolist() == [0.0] * 4


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_ints_change_without_a_new_graph(name):
    def body(recorder):
        x, n = recorder.tensor_input(X, VALUE), recorder.number_input(N, 7)
        return [recorder.call("call_function", operator.mul, (x, n)), recorder.symbolic(example(n) + 1)]

    compiled = compiled_by(name, body)
    for number in (7, 1, 0, -2):
        product, more = call(compiled, x=VALUE, n=number)
        assert torch.equal(product, VALUE * number)
        assert more == number + 1


def test_floats_change_without_a_new_graph():
    compiled = compiled_by(
        "eager",
        lambda recorder: [
            recorder.call(
                "call_function",
                operator.mul,
                (recorder.tensor_input(X, VALUE), recorder.number_input(N, 0.5)),
            )
        ],
    )
    assert torch.equal(call(compiled, x=VALUE, n=2.5)[0], VALUE * 2.5)


@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_a_backend_that_traces_again_takes_no_symbolic_floats(name):
    assert not Recorder(GraphOptions(backend=name)).runs_as_captured


def test_inductor_takes_no_symbolic_floats_and_says_so():
    recorder = Recorder(GraphOptions(backend="inductor"))
    assert not recorder.runs_as_captured
    with recorder, pytest.raises(GraphBreak, match="the float n as a number that may change"):
        recorder.number_input(N, 0.5)


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_unknown_numbers_reach_the_backend(name):
    def body(recorder):
        number = recorder.call("call_method", "item", (recorder.tensor_input(X, FIVE),))
        return [recorder.call("call_function", torch.ones, (example(number) + 1,))]

    compiled = compiled_by(name, body, capture_scalar_outputs=True)
    assert compiled.call(torch.tensor(8))[0].shape == (9,)


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_sizes_without_a_hint_reach_the_backend(name):
    def body(recorder):
        x = recorder.tensor_input(X, VALUE, DynamicDims(dims={0: Dim.UNBACKED}))
        ones = recorder.call("call_function", torch.ones, (example(x).shape[0],))
        return [recorder.call("call_method", "sin", (x,)), ones]

    compiled = compiled_by(name, body)
    for rows in (0, 1, 5):
        x = torch.randn(rows, 4)
        sine, ones = call(compiled, x=x)
        torch.testing.assert_close(sine, x.sin())
        assert ones.shape == (rows,)


@pytest.mark.parametrize("name", ["eager", *DIFFERENTIATING])
def test_the_grad_mode_in_the_graph_is_obeyed(name):
    def body(recorder):
        p = recorder.tensor_input(P, WEIGHT)
        recorder.call("call_function", torch._C._set_grad_enabled, (False,))
        inside = recorder.call("call_method", "sin", (p,))
        recorder.call("call_function", torch._C._set_grad_enabled, (True,))
        return [inside, recorder.call("call_method", "cos", (p,))]

    inside, outside = call(compiled_by(name, body), p=WEIGHT)
    assert (inside.requires_grad, outside.requires_grad) == (False, True)
    assert torch.is_grad_enabled()


@pytest.mark.inductor
def test_modes_and_options_reach_inductor():
    compiled = compiled_by(
        "inductor", layer, mode="max-autotune-no-cudagraphs", backend_options={"cpp.threads": 1}
    )
    check_gradients(compiled, torch.randn(3, 4))


@pytest.mark.inductor
def test_an_unknown_option_of_inductor_is_named():
    with pytest.raises(BackendFailed, match="inductor has no option 'nope'"):
        compiled_by("inductor", layer, backend_options={"nope": 1})


def test_a_callable_is_a_backend_and_gets_the_real_tensors():
    seen = []

    def mine(module, examples):
        seen.extend(examples)
        return module

    compiled = compiled_by(mine, layer)
    assert seen[0] is VALUE
    assert seen[1] is WEIGHT
    check_gradients(compiled, torch.randn(3, 4))


def test_a_registered_name_is_found():
    name = "framesmith_test_backend"
    register_backend(lambda module, examples: module.forward, name)
    assert name in list_backends()
    check_gradients(compiled_by(name, layer), torch.randn(3, 4))
    with pytest.raises(ValueError, match=f"the name '{name}', which .* has already"):
        register_backend(lambda module, examples: None, name)


def test_an_unknown_backend_is_named_with_the_known_ones():
    with pytest.raises(
        UnknownBackend, match="'nope' is not known; known are aot_eager, eager,.*register_backend"
    ):
        compiled_by("nope", layer)


def test_an_entry_point_is_loaded(monkeypatch):
    point = EntryPoint("of_entry_point", "framesmith.graph.backends.backend:eager", "torch_dynamo_backends")
    monkeypatch.setattr(backend, "entry_points", lambda **wanted: [point])
    check_gradients(compiled_by("of_entry_point", layer), torch.randn(3, 4))


def test_a_backend_that_raises_is_named():
    def broken(module, examples):
        raise KeyError("weights")

    with pytest.raises(BackendFailed, match=r"backend '.*broken' raised KeyError: 'weights'") as caught:
        compiled_by(broken, layer)
    assert isinstance(caught.value.original, KeyError)
    assert torch.is_grad_enabled()


def of_one(module):
    return module.forward


def of_settings(module, examples, *, mode):
    return module.forward


@pytest.mark.parametrize(
    ("broken", "settings", "step"),
    [
        (of_one, {}, r"take what it is called with: \(graph_module, example_inputs\)$"),
        (
            of_one,
            {"mode": "a"},
            r"\(graph_module, example_inputs, mode=...\); mode=... because compile\(\) got it$",
        ),
        (
            of_settings,
            {"mode": "a", "backend_options": {"b": 1}},
            r"\(graph_module, example_inputs, mode=..., options=...\); mode=... and options=... because compile\(\) got them$",
        ),
    ],
)
def test_a_backend_of_another_signature_is_told_what_it_gets(broken, settings, step):
    with pytest.raises(BackendFailed, match="next step: .*" + step) as caught:
        compiled_by(broken, layer, **settings)
    assert "saved in" not in str(caught.value)


def test_a_type_error_inside_of_a_backend_is_its_own():
    def broken(module, examples):
        return of_one()

    with pytest.raises(BackendFailed, match="saved in .*\nnext step: try backend="):
        compiled_by(broken, layer)


def test_the_newest_graphs_are_kept_in_a_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    graph = fx.Graph()
    graph.output((graph.placeholder("x"),))
    module = fx.GraphModule(torch.nn.Module(), graph)
    saved = [pathlib.Path(describe_graph(module).rpartition(" ")[2]) for _ in range(25)]
    assert {path.parent for path in saved} == {graph_folder()}
    assert graph_folder().parent == tmp_path and graph_folder().stat().st_mode & 0o777 == 0o700
    kept = set(graph_folder().iterdir())
    assert len(kept) == 20 and saved[-1] in kept


def test_no_graph_is_saved_in_a_folder_of_somebody_else(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    graph_folder().symlink_to(elsewhere)
    graph = fx.Graph()
    graph.output((graph.placeholder("x"),))
    assert "saved" not in describe_graph(fx.GraphModule(torch.nn.Module(), graph))
    assert not list(elsewhere.iterdir())


def test_a_failure_names_the_users_lines_and_saves_the_graph():
    graph = fx.Graph()
    x = graph.placeholder("x")
    sine = graph.call_method("sin", (x,))
    graph.output((graph.call_method("cos", (sine,)),))
    for node, line in zip(list(graph.nodes)[1:3], (3, 7), strict=True):
        node.meta["stack_trace"] = (
            f'  File "a.py", line 1, in main\n    f(x)\n  File "b.py", line {line}, in f\n    y = {node.name}\n'
        )
    text = describe_graph(fx.GraphModule(torch.nn.Module(), graph))
    assert "begins at b.py:3 in f: y = sin\n" in text and "ends at b.py:7 in f: y = cos\n" in text
    saved = pathlib.Path(text.rpartition(" ")[2])
    assert "x.sin()" in saved.read_text()
    saved.unlink()


def test_a_backend_that_returns_nothing_is_named():
    with pytest.raises(BackendFailed, match="returned None, when it was given a graph"):
        compiled_by(lambda module, examples: None, layer)


def test_a_backend_that_computes_something_else_is_found():
    def wrong(module, examples):
        return lambda *inputs: tuple(output + 1 for output in module(*inputs))

    with pytest.raises(BackendFailed, match="computes something else than the graph"):
        compiled_by(wrong, layer, verify_correctness=True)


def test_a_backend_that_writes_something_else_to_an_input_is_found():
    written = VALUE.clone()

    def writes(recorder):
        return [recorder.call("call_method", "mul_", (recorder.tensor_input(X, written), 2.0))]

    def wrong(module, examples):
        def run(*inputs):
            results = tuple(result.clone() for result in module(*inputs))
            inputs[0].add_(1)
            return results

        return run

    with pytest.raises(BackendFailed, match="writes something else to the inputs than the graph"):
        compiled_by(wrong, writes, verify_correctness=True)
    assert compiled_by(lambda module, examples: module.forward, writes, verify_correctness=True)


def test_verify_correctness_runs_symbolic_numbers_with_their_values():
    def scaled(recorder):
        factor = recorder.number_input(N, 7)
        return [recorder.call("call_function", operator.mul, (recorder.tensor_input(X, VALUE), factor))]

    def wrong(module, examples):
        return lambda x, n: (x * (n + 1),)

    with pytest.raises(BackendFailed, match="computes something else than the graph"):
        compiled_by(wrong, scaled, verify_correctness=True)


def test_verify_correctness_draws_nothing_from_a_generator_of_the_program():
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()

    def drawn(recorder):
        given = recorder.object_input(N, generator)
        shape = recorder.tensor_input(X, VALUE)
        return [recorder.call("call_function", torch.bernoulli, (shape,), {"generator": given})]

    compiled_by(lambda module, examples: module.forward, drawn, verify_correctness=True)
    assert torch.equal(generator.get_state(), before)


def test_what_a_backend_returns_has_to_take_the_inputs():
    message = "returned a callable that does not take the 2 inputs of the graph\nnext step: .* one by one"
    with pytest.raises(BackendFailed, match=message):
        compiled_by(lambda module, examples: lambda inputs: module(*inputs), layer)


def test_a_class_is_no_backend_of_its_own():
    class Doubling:
        def __call__(self, module, examples):
            return module.forward

    with pytest.raises(BackendFailed, match="or pass an instance of the class"):
        compiled_by(Doubling, layer)
    assert compiled_by(Doubling(), layer)


def test_verify_correctness_takes_nan_for_equal():
    def roots_of_negative_numbers(recorder):
        negative = recorder.call("call_function", operator.sub, (recorder.tensor_input(X, VALUE), 1e6))
        return [recorder.call("call_function", torch.sqrt, (negative,))]

    compiled = compiled_by("aot_eager", roots_of_negative_numbers, verify_correctness=True)
    assert call(compiled, x=VALUE)[0].isnan().all()


def test_verify_correctness_accepts_a_right_one():
    check_gradients(compiled_by("aot_eager", layer, verify_correctness=True), torch.randn(3, 4))
