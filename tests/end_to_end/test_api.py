"""The surface: every way to write `compile`, options, what it refuses, logs and reports."""

import functools
import os
import subprocess
import sys
import warnings

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

X = torch.tensor([1.0, -2.0])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
eager = functools.partial(frontend.compile, backend="eager")


def double(x, k=2, *, plus=0):
    """Doc."""
    return x * k + plus


class Thing:
    k = 3

    def __init__(self, n=1):
        self.n = n

    def __call__(self, x):
        return x * self.n

    @frontend.compile(backend="eager")
    def method(self, x):
        return x * self.k + self.n

    @staticmethod
    @frontend.compile(backend="eager")
    def static(x):
        return x + 1

    @classmethod
    @frontend.compile(backend="eager")
    def made(cls, x):
        return x * cls.k


def entries(model):
    return len(api.session_of(model).history.entries)


def test_a_compiled_function_looks_like_the_original():
    compiled = eager(double)
    assert (compiled.__name__, compiled.__doc__, compiled.__defaults__, compiled.__kwdefaults__) == (
        "double",
        "Doc.",
        (2,),
        {"plus": 0},
    )
    assert compiled.__wrapped__ is double and compiled.__module__ == __name__
    assert torch.equal(compiled(X, 3, plus=1), X * 3 + 1) and entries(compiled) == 1


def test_wrong_arguments_raise_the_usual_error():
    with pytest.raises(
        TypeError, match=r"double\(\) takes from 1 to 2 positional arguments but 3 were given"
    ):
        eager(double)(X, 1, 2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        eager(double)()


def test_decorator_without_options():
    @frontend.compile
    def f(x):
        return x + 1

    assert f.__name__ == "f" and api.session_of(f).options.backend == "inductor"


def test_decorator_with_options():
    @frontend.compile(backend="eager", fullgraph=True, dynamic=True)
    def f(x):
        return x + 1

    assert torch.equal(f(X), X + 1) and entries(f) == 1


def test_decorated_methods():
    thing = Thing(5)
    assert torch.equal(thing.method(X), X * 3 + 5)
    assert torch.equal(Thing.static(X), X + 1) and torch.equal(thing.static(X), X + 1)
    assert torch.equal(Thing.made(X), X * 3) and torch.equal(thing.made(X), X * 3)


def test_bound_method():
    assert torch.equal(eager(Thing(4).__call__)(X), X * 4)


def test_lambda_and_partial():
    assert torch.equal(eager(lambda x: x - 1)(X), X - 1)
    assert torch.equal(eager(functools.partial(double, k=5))(X), X * 5)


def test_callable_object():
    compiled = eager(Thing(6))
    assert torch.equal(compiled(X), X * 6)


def test_class():
    class Local(Thing):
        pass

    assert eager(Local) is Local
    assert torch.equal(Local(7)(X), X * 7)


def test_module_class():
    class M(torch.nn.Module):
        def forward(self, x):
            return x * 4

    assert torch.equal(eager(M)()(X), X * 4)


def test_builtin_function_stays_usable():
    assert torch.equal(eager(torch.add)(X, X), X * 2)
    assert eager(len)([1, 2]) == 2


def test_generator_function_stays_eager():
    def gen(x):
        yield x
        yield x + 1

    assert [t.tolist() for t in eager(gen)(X)] == [[1.0, -2.0], [2.0, -1.0]]


def test_coroutine_function_stays_eager():
    async def co(x):
        return x + 1

    with pytest.raises(StopIteration) as stop:
        eager(co)(X).send(None)
    assert torch.equal(stop.value.value, X + 1)


def test_compiling_twice_gives_one_layer():
    once = eager(double)
    assert torch.equal(eager(once)(X), X * 2)


def test_disable_as_an_option():
    assert frontend.compile(double, disable=True) is double
    assert frontend.compile(disable=True)(double) is double


def test_what_cannot_be_called_is_refused():
    with pytest.raises(frontend.InvalidArgument, match="cannot be called"):
        eager(3)


def test_unknown_backend_is_refused():
    with pytest.raises(frontend.UnknownBackend, match="nothing_like_it"):
        frontend.compile(double, backend="nothing_like_it")


def test_mode_and_options_exclude_each_other():
    with pytest.raises(frontend.InvalidArgument):
        frontend.compile(double, mode="default", options={})


def test_backend_that_raises_is_named():
    def broken(module, inputs):
        raise ValueError("broken on purpose")

    with pytest.raises(frontend.BackendFailed, match="broken on purpose"):
        frontend.compile(double, backend=broken)(X)


def test_backend_that_returns_no_function_is_named():
    with pytest.raises(frontend.BackendFailed, match="broken|callable"):
        frontend.compile(double, backend=lambda module, inputs: 3)(X)


def test_failing_backend_leaves_the_arguments_as_they_were():
    def broken(module, inputs):
        raise ValueError

    def f(x, items):
        items.append(1)
        x.add_(1)
        return x

    x, items = X.clone(), []
    with pytest.raises(frontend.BackendFailed):
        frontend.compile(f, backend=broken)(x, items)
    assert items == [] and torch.equal(x, X)


def test_backend_sees_graph_and_inputs():
    seen = []

    def backend(module, inputs):
        seen.append((module, inputs))
        return module.forward

    assert torch.equal(frontend.compile(double, backend=backend)(X), X * 2)
    module, inputs = seen[0]
    assert (
        isinstance(module, torch.fx.GraphModule) and len(inputs) == 1 and isinstance(inputs[0], torch.Tensor)
    )


def test_backend_may_return_a_list():
    assert torch.equal(
        frontend.compile(double, backend=lambda module, inputs: lambda *a: list(module(*a)))(X), X * 2
    )


@pytest.mark.inductor
def test_inductor():
    compiled = frontend.compile(lambda x: (x.sin() + x.cos()).relu().sum())
    torch.testing.assert_close(compiled(X), (X.sin() + X.cos()).relu().sum())


def test_aot_eager_with_gradients():
    w = torch.randn(2, requires_grad=True)
    frontend.compile(lambda x: (x * w).sum(), backend="aot_eager")(X).backward()
    assert torch.equal(w.grad, X)


def test_fullgraph_error_names_line_and_remedy():
    def f(x):
        print("no")
        return x

    with pytest.raises(frontend.FullGraphError) as error:
        frontend.compile(f, backend="eager", fullgraph=True)(X)
    text = str(error.value)
    assert __file__ in text and 'print("no")' in text and "print" in text
    assert len(text.splitlines()) > 3


def test_fullgraph_error_shows_the_line_in_the_callee():
    def inner(x):
        frontend.graph_break()
        return x

    with pytest.raises(frontend.FullGraphError, match="in inner"):
        frontend.compile(lambda x: inner(x) + 1, backend="eager", fullgraph=True)(X)


def test_fullgraph_lets_user_errors_through():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        frontend.compile(f, backend="eager", fullgraph=True)(X)


def test_disabled_callee_runs_natively():
    seen = []

    @frontend.disable
    def native(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1

    assert torch.equal(eager(lambda x: native(x * 2) * 3)(X), (X * 2 + 1) * 3)
    assert seen == [False]


def test_torch_directives_are_recognized():
    @torch.compiler.disable
    def native(x):
        return x + 1

    compiled = eager(lambda x: native(x * 2) * 3)
    assert torch.equal(compiled(X), (X * 2 + 1) * 3)
    assert any("disable" in record.kind for record in api.session_of(compiled).history.breaks)


def test_is_compiling_is_true_in_the_trace():
    assert eager(lambda x: (frontend.is_compiling(), torch.compiler.is_compiling(), x))(X)[:2] == (True, True)
    assert not frontend.is_compiling()


def test_graph_break_is_reported_once():
    def f(x):
        for _ in range(5):
            frontend.graph_break("here")
            x = x + 1
        return x

    compiled = eager(f)
    compiled(X)
    assert [record.kind for record in api.session_of(compiled).history.breaks] == ["explicit-break"] or len(
        api.session_of(compiled).history.breaks
    ) == 1


def test_reset_forgets_entries():
    compiled = eager(double)
    compiled(X)
    frontend.reset()
    assert entries(compiled) == 0 and torch.equal(compiled(X), X * 2) and entries(compiled) == 1


def test_config_patch_restores():
    before = frontend.config.recompile_limit
    with frontend.config.patch(recompile_limit=2):
        assert frontend.config.recompile_limit == 2
    assert frontend.config.recompile_limit == before
    with pytest.raises(AttributeError, match="nothing_like_it"), frontend.config.patch(nothing_like_it=1):
        pass


def test_recompile_limit_keeps_serving():
    compiled = frontend.compile(lambda x, s: x * len(s), backend="eager")
    with frontend.config.patch(recompile_limit=2):
        for text in ("a", "bb", "ccc", "dddd", "a"):
            assert torch.equal(compiled(X, text), X * len(text))
    assert entries(compiled) <= 2 and "recompile_limit" in " ".join(api.session_of(compiled).history.notes)


def test_error_on_recompile():
    compiled = frontend.compile(lambda x, s: x * len(s), backend="eager")
    compiled(X, "a")
    with frontend.config.patch(error_on_recompile=True), pytest.raises(Exception, match="recompile|compiled"):
        compiled(X, "bb")


def test_config_disable_runs_natively():
    compiled = eager(double)
    with frontend.config.patch(disable=True):
        assert torch.equal(compiled(X), X * 2)
    assert entries(compiled) == 0


def test_explain_tells_graphs_and_breaks():
    def f(x):
        y = x + 1
        print("hi")
        return y * 2

    report = frontend.explain(f)(X)
    assert len(report.graphs) == 2 and len(report.breaks) == 1 and report.operators == 2
    assert "print" in str(report) and "2 graphs" in str(report)


def test_recompile_reason_is_told():
    compiled = frontend.compile(lambda x, s: x * len(s), backend="eager")
    compiled(X, "a")
    compiled(X, "bb")
    assert any("s" in reason for reason in api.session_of(compiled).history.recompiles)


def test_counters_count():
    eager(double)(X)
    assert frontend.counters["stats"]["graphs"] == 1


def test_logs_go_to_standard_error():
    program = "import torch\nfrom framesmith import frontend\ndef f(x):\n    y = x + 1\n    print('hi')\n    return y\nfrontend.compile(f, backend='eager')(torch.ones(2))\n"
    env = os.environ | {"FRAMESMITH_LOGS": "graph_breaks,graph"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "graph_breaks" in done.stderr and "print" in done.stderr


def test_assume_constant_result():
    calls = []

    @frontend.assume_constant_result
    def answer():
        calls.append(1)
        return 42

    compiled = eager(lambda x: x * answer())
    assert torch.equal(compiled(X), X * 42) and torch.equal(compiled(X), X * 42) and len(calls) == 1


def test_allow_in_graph():
    def opaque(x):
        return eval("x + 1")

    frontend.allow_in_graph(opaque)
    compiled = eager(lambda x: opaque(x) * 2)
    assert torch.equal(compiled(X), (X + 1) * 2) and not api.session_of(compiled).history.breaks


def test_backends_are_listed_and_registered():
    assert {"eager", "aot_eager", "inductor"} <= set(frontend.list_backends())

    def mine(module, inputs):
        return module

    frontend.register_backend("mine_for_this_test", mine) if _takes_name() else frontend.register_backend(
        mine, name="mine_for_this_test"
    )
    assert torch.equal(frontend.compile(double, backend="mine_for_this_test")(X), X * 2)


def _takes_name():
    return next(iter(__import__("inspect").signature(frontend.register_backend).parameters)) == "name"


def test_threads_may_call_and_compile():
    import threading

    compiled = frontend.compile(lambda x, n: x * len(n), backend="eager")
    failed = []

    def work(n):
        for _ in range(20):
            if not torch.equal(compiled(X, "a" * n), X * n):
                failed.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed


def test_nothing_is_written_into_the_globals_of_the_user():
    before = set(globals())
    eager(lambda x: print(x.sum()) or x)(X)
    assert set(globals()) == before


def test_compiled_function_is_freed_with_its_entries():
    import gc
    import weakref

    class Big:
        pass

    big = Big()

    def make():
        local = Big()
        local.big = big
        return eager(lambda x: x + (1 if local else 2)), weakref.ref(local)

    compiled, ref = make()
    compiled(X)
    del compiled
    gc.collect()
    assert ref() is None


def test_warnings_of_the_program_come_through():
    def f(x):
        warnings.warn("careful", UserWarning, stacklevel=1)
        return x + 1

    with pytest.warns(UserWarning, match="careful"):
        eager(f)(X)


class TestErrorOnGraphBreak:
    """The switch inside the code: the innermost open manager counts, over breaks as well."""

    def compiled(self, function, **options):
        return frontend.compile(function, backend="eager", **options)

    def test_a_break_inside_is_an_error_and_names_its_line(self):
        def f(x):
            with frontend.error_on_graph_break(True):
                print(end="")
            return x + 1

        with pytest.raises(frontend.FullGraphError, match='print\\(end=""\\)'):
            self.compiled(f)(X)

    def test_breaks_before_and_after_are_none(self):
        def f(x):
            print(end="")
            with frontend.error_on_graph_break(True):
                x = x.sin()
            print(end="")
            return x.cos()

        assert torch.equal(self.compiled(f)(X), f(X))

    def test_the_innermost_counts_also_in_a_continuation(self):
        def f(x):
            with frontend.error_on_graph_break(True):
                with frontend.error_on_graph_break(False):
                    print(end="")
                    x = x.sin()
                print(end="")
            return x

        with pytest.raises(frontend.FullGraphError):
            self.compiled(f)(X)

    def test_a_decorated_callee(self):
        @frontend.error_on_graph_break(True)
        def inner(x):
            print(end="")
            return x + 1

        with pytest.raises(frontend.FullGraphError):
            self.compiled(lambda x: inner(x.sin()))(X)

    def test_false_does_not_lift_fullgraph(self):
        def f(x):
            with frontend.error_on_graph_break(False):
                print(end="")
            return x

        with pytest.raises(frontend.FullGraphError):
            self.compiled(f, fullgraph=True)(X)
