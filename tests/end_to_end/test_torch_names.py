"""Each cell of `docs/torch-names.md`: what torch's process-wide names do to compiled functions."""

import re
from pathlib import Path

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api
from framesmith.frontend.options import Config

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch-names.md"
X = torch.ones(3)
dynamo = torch._dynamo
FIVE = torch.ones(5)


@pytest.fixture(autouse=True)
def as_before():
    yield
    torch.compiler.set_stance("default")
    dynamo.reset()


class Run:
    """A compiled function with its graphs and breaks."""

    def __init__(self, function, **options):
        self.graphs = 0
        self.compiled = frontend.compile(function, **({"backend": self.backend} | options))

    def backend(self, module, examples):
        self.graphs += 1
        return module.forward

    def __call__(self, *args):
        return self.compiled(*args)

    @property
    def breaks(self):
        return [f"{one.kind}: {one.detail}" for one in api.session_of(self.compiled).history.breaks]


def plus(x):
    return x + 1


def calling(function):
    """A compiled function that calls it between two operations."""
    return Run(lambda x: function(x * 2) * 3)


def stance():
    run = Run(plus)
    run(X)
    torch.compiler.set_stance("force_eager")
    assert torch.equal(run(X.double()), X.double() + 1) and run.graphs == 1


def forgets(reset):
    def check():
        run = Run(plus)
        run(X)
        reset()
        run(X)
        assert run.graphs == 2

    return check


def fields():
    run = Run(plus)
    with dynamo.config.patch(assume_static_by_default=False):
        for size in (3, 5, 7):
            run(torch.ones(size))
    assert run.graphs == 1


def patched():
    run = calling(dynamo.dont_skip_tracing(plus))
    assert torch.equal(run(X), (X * 2 + 1) * 3) and len(run.breaks) == 1


def default_backend():
    used = Run(plus)
    torch.compiler.set_default_backend(used.backend)
    try:
        frontend.compile(plus)(X)
    finally:
        torch.compiler.set_default_backend("inductor")
    assert used.graphs == 1


def environment():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_COMPILE_DISABLE", "1")
        assert Config().disable
    run = Run(plus)
    with frontend.config.patch(disable=True):
        assert torch.equal(run(X), X + 1)
    assert run.graphs == 0


def native(function, reason=""):
    def check():
        run = calling(function())
        assert torch.equal(run(X), (X * 2 + 1) * 3)
        assert len(run.breaks) == 1 and reason in run.breaks[0]

    return check


def one_node(mark):
    def check():
        seen = []

        def opaque(x):
            seen.append(type(x).__name__)
            return x + 1

        run = calling(mark(opaque))
        for _ in range(2):
            assert torch.equal(run(X), (X * 2 + 1) * 3)
        assert not run.breaks and run.graphs == 1 and seen[-2:] == ["Tensor", "Tensor"]

        def changing(x, log):
            log.append(1)
            return x + 1

        marked, log = mark(changing), []
        run = calling(lambda x: marked(x, log))
        run(X)
        run(X)
        assert log == [1, 1] and len(run.breaks) == 1

    return check


def disallowed():
    dynamo.disallow_in_graph(torch.sin)
    try:
        run = calling(torch.sin)
        assert torch.equal(run(X), torch.sin(X * 2) * 3)
    finally:
        dynamo.allow_in_graph(torch.sin)
    assert len(run.breaks) == 1 and "disallow_in_graph" in run.breaks[0]


def forbidden():
    def secret(x):
        return x + 1

    with pytest.raises(frontend.ForbiddenInGraph, match="secret is marked with forbid_in_graph"):
        calling(dynamo.forbid_in_graph(secret))(X)


def assumed():
    run = calling(torch.compiler.assume_constant_result(lambda x: x + 1))
    assert torch.equal(run(X), (X * 2 + 1) * 3) and not run.breaks


def marked_size(mark, function, graphs, breaks=0, error=None):
    def check():
        run = Run(function)
        given = FIVE.clone()
        mark(given, 0)
        if error is not None:
            with pytest.raises(error):
                run(given)
            return
        assert torch.equal(run(given), function(FIVE))
        for size in (7, 9):
            assert torch.equal(run(torch.ones(size)), function(torch.ones(size)))
        assert len(run.breaks) == breaks and run.graphs == (run.graphs if graphs is None else graphs)

    return check


def both(*checks):
    return lambda: [check() for check in checks]


def static():
    run = Run(plus, dynamic=True)
    for size in (3, 5):
        given = torch.ones(size)
        dynamo.mark_static(given, 0)
        run(given)
    assert run.graphs == 2


def branch(x):
    return x * 2 if x.shape[0] == 5 else x + 1


def region():
    run = calling(torch.compiler.nested_compile_region(plus))
    assert torch.equal(run(X), (X * 2 + 1) * 3) and not run.breaks


NAMES = (
    torch.compiler.is_compiling,
    torch.compiler.is_dynamo_compiling,
    torch._utils.is_compiling,
    dynamo.is_compiling,
    dynamo.external_utils.is_compiling,
    frontend.is_compiling,
)


def not_compiling():
    assert not any(name() for name in NAMES)


OUTSIDE = {
    "torch.compiler.set_stance": stance,
    "torch.compiler.reset": forgets(torch.compiler.reset),
    "torch._dynamo.reset": forgets(dynamo.reset),
    "torch._dynamo.config": fields,
    "torch._dynamo.patch_dynamo_config": patched,
    "torch.compiler.set_default_backend": default_backend,
    "TORCH_COMPILE_DISABLE": environment,
    "torch.compiler.disable": native(
        lambda: torch.compiler.disable(plus, reason="it is slow"),
        reason="plus is marked with torch.compiler.disable: it is slow",
    ),
    "disable(recursive=False)": native(lambda: torch.compiler.disable(plus, recursive=False)),
    "torch._dynamo.nonstrict_trace": one_node(dynamo.nonstrict_trace),
    "torch.compiler.allow_in_graph": one_node(torch.compiler.allow_in_graph),
    "torch._dynamo.disallow_in_graph": disallowed,
    "torch._dynamo.forbid_in_graph": forbidden,
    "torch.compiler.assume_constant_result": assumed,
    "torch._dynamo.skip_frame": dynamo.skip_frame,
    "torch._dynamo.graph_break": dynamo.graph_break,
    "torch._dynamo.mark_dynamic": both(
        marked_size(dynamo.mark_dynamic, plus, 1),
        marked_size(dynamo.mark_dynamic, branch, 0, error=frontend.DynamicSizeFixed),
    ),
    "torch._dynamo.maybe_mark_dynamic": marked_size(dynamo.maybe_mark_dynamic, branch, 3),
    "torch._dynamo.decorators.mark_unbacked": both(
        marked_size(dynamo.decorators.mark_unbacked, plus, 1),
        marked_size(dynamo.decorators.mark_unbacked, branch, None, breaks=1),
    ),
    "torch._dynamo.mark_static": static,
    "is_compiling": not_compiling,
    "torch.compiler.nested_compile_region": region,
}


def asked(x):
    return x + sum(name() for name in NAMES)


def patched_inside(x):
    with dynamo.config.patch(recompile_limit=9):
        return x + 1


def stance_inside(x):
    with torch.compiler.set_stance("default"):
        return x + 1


def marks_inside(mark):
    def function(x):
        y = x * 1
        mark(y, 0)
        return y + 1

    return function


def decorated_inside(decorate):
    return lambda x: decorate(lambda y: y + 1)(x)


INSIDE = {
    "torch.compiler.set_stance": stance_inside,
    "torch.compiler.reset": lambda x: (torch.compiler.reset(), x + 1)[1],
    "torch._dynamo.reset": lambda x: (dynamo.reset(), x + 1)[1],
    "torch._dynamo.config": patched_inside,
    "torch._dynamo.patch_dynamo_config": decorated_inside(dynamo.dont_skip_tracing),
    "torch.compiler.set_default_backend": lambda x: (
        torch.compiler.set_default_backend("inductor"),
        x + 1,
    )[1],
    "torch.compiler.disable": decorated_inside(torch.compiler.disable),
    "disable(recursive=False)": lambda x: torch.compiler.disable(plus, recursive=False)(x),
    "torch._dynamo.nonstrict_trace": decorated_inside(dynamo.nonstrict_trace),
    "torch.compiler.allow_in_graph": decorated_inside(torch.compiler.allow_in_graph),
    "torch._dynamo.disallow_in_graph": lambda x: (dynamo.allow_in_graph(torch.sin), x + 1)[1],
    "torch._dynamo.forbid_in_graph": lambda x: (dynamo.forbid_in_graph(branch), x + 1)[1],
    "torch.compiler.assume_constant_result": decorated_inside(torch.compiler.assume_constant_result),
    "torch._dynamo.skip_frame": lambda x: (dynamo.skip_frame(), x + 1)[1],
    "torch._dynamo.graph_break": lambda x: (dynamo.graph_break(), x + 1)[1],
    "torch._dynamo.mark_dynamic": marks_inside(dynamo.mark_dynamic),
    "torch._dynamo.maybe_mark_dynamic": marks_inside(dynamo.maybe_mark_dynamic),
    "torch._dynamo.decorators.mark_unbacked": marks_inside(dynamo.decorators.mark_unbacked),
    "torch._dynamo.mark_static": marks_inside(dynamo.mark_static),
    "torch.compiler.nested_compile_region": decorated_inside(torch.compiler.nested_compile_region),
}


def test_the_page_names_what_is_run():
    names = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), flags=re.MULTILINE)
    assert names == list(OUTSIDE)
    assert set(names) - set(INSIDE) == {"TORCH_COMPILE_DISABLE", "is_compiling"}


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside(name):
    OUTSIDE[name]()


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name):
    run = calling(INSIDE[name])
    for _ in range(2):
        assert torch.equal(run(X), (X * 2 + 1) * 3)


def test_is_compiling_inside():
    assert torch.equal(frontend.compile(asked, backend="eager", fullgraph=True)(X), X + len(NAMES))
