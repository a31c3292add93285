"""What the process says through torch holds for compiled functions, also for those that have entries."""

import dataclasses
import warnings

import pytest
import torch
import torch._dynamo.config

from framesmith import frontend
from framesmith.frontend.options import current_config
from framesmith.frontend.torch_settings import SAME, forget_warnings

X = torch.ones(3)


class Counting:
    """A backend that counts, and a function that counts its native calls."""

    def __init__(self) -> None:
        self.graphs = 0
        self.native = 0

    def backend(self, module, examples):
        self.graphs += 1
        return module.forward

    def function(self, x):
        if not torch.compiler.is_compiling():
            self.native += 1
        return x + 1


@pytest.fixture
def counted():
    counting = Counting()
    compiled = frontend.compile(lambda x: counting.function(x), backend=counting.backend)
    yield counting, compiled
    torch.compiler.set_stance("default")


def test_force_eager_holds_for_existing_entries(counted) -> None:
    counting, compiled = counted
    compiled(X)
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(compiled(X), X + 1)
    assert (counting.graphs, counting.native) == (1, 1)
    torch.compiler.set_stance("force_eager")
    compiled(X)
    torch.compiler.set_stance("default")
    compiled(X)
    assert (counting.graphs, counting.native) == (1, 2)


def test_eager_on_recompile_lets_entries_serve(counted) -> None:
    counting, compiled = counted
    compiled(X)
    with torch.compiler.set_stance("eager_on_recompile"):
        compiled(X)
        compiled(X.double())
    assert (counting.graphs, counting.native) == (1, 1)


def test_fail_on_recompile_names_the_reason(counted) -> None:
    _, compiled = counted
    compiled(X)
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(X)
        with pytest.raises(frontend.RecompileError, match="dtype changed"):
            compiled(X.double())


@pytest.mark.parametrize(("stance", "native"), [("eager_then_compile", 1), ("aot_eager_then_compile", 0)])
def test_a_first_call_that_is_not_compiled_teaches_the_sizes(counted, stance, native) -> None:
    counting, compiled = counted
    with torch.compiler.set_stance(stance):
        for size in (3, 5, 7, 9):
            compiled(torch.ones(size))
    assert (counting.graphs, counting.native) == (1, native)


def test_a_forced_backend_has_entries_of_its_own(counted) -> None:
    counting, compiled = counted
    other = Counting()
    compiled(X)
    with torch.compiler.set_stance("default", force_backend=other.backend):
        compiled(X)
        compiled(X)
    compiled(X)
    assert (counting.graphs, other.graphs) == (1, 1)


def test_resets_of_torch_forget_entries(counted) -> None:
    counting, compiled = counted
    for reset in (torch.compiler.reset, torch._dynamo.reset):
        compiled(X)
        reset()
    compiled(X)
    assert counting.graphs == 3


def test_a_changed_field_without_counterpart_warns_once(counted) -> None:
    with torch._dynamo.config.patch(minimum_call_count=7):
        with pytest.warns(frontend.IgnoredSettingWarning, match="minimum_call_count"):
            counted[1](X)


def test_a_field_that_the_hash_of_torchs_settings_leaves_out_warns_too(counted) -> None:
    counted[1](X)
    with torch._dynamo.config.patch(repro_level=3):
        with pytest.warns(frontend.IgnoredSettingWarning, match="repro_level"):
            counted[1](X[:2])


@pytest.mark.parametrize("name", ["guard_nn_modules", "inline_inbuilt_nn_modules", "nested_graph_breaks"])
def test_a_field_that_denies_what_always_holds_warns(counted, name) -> None:
    if name not in torch._dynamo.config._config:
        assert not hasattr(torch._dynamo.config, name)  # of another torch
        return
    with warnings.catch_warnings(), torch._dynamo.config.patch({name: True}):
        warnings.simplefilter("error", frontend.IgnoredSettingWarning)
        counted[1](X)
    with torch._dynamo.config.patch({name: False}):
        changed = getattr(torch._dynamo.config, "_config")[name].default is not False
        if changed:
            with pytest.warns(frontend.IgnoredSettingWarning, match=f"{name} = False has no effect"):
                counted[1](X[:1])


def test_a_field_warns_where_an_entry_is_shared_too() -> None:
    def make():
        def f(x):
            return x + 1

        return f

    frontend.compile(make(), backend="eager")(X)
    forget_warnings()
    with torch._dynamo.config.patch(minimum_call_count=7):
        with pytest.warns(frontend.IgnoredSettingWarning, match="minimum_call_count"):
            frontend.compile(make(), backend="eager")(X)


def test_every_field_that_torch_has_under_the_same_name_is_followed() -> None:
    named = {field.name for field in dataclasses.fields(type(frontend.config))}
    assert named & set(torch._dynamo.config._config) == SAME & named


@pytest.mark.parametrize(
    ("value", "is_on"), [(True, True), (False, False), ("ddp_optimizer", True), ("no_optimization", False)]
)
def test_a_field_that_takes_texts_is_followed(value, is_on) -> None:
    with torch._dynamo.config.patch(optimize_ddp=value):
        assert current_config().optimize_ddp is is_on


def test_a_nested_compile_region_is_inlined() -> None:
    @torch.compiler.nested_compile_region
    def region(x):
        return x * 3

    compiled = frontend.compile(lambda x: region(x) + region(x + 1), backend="eager", fullgraph=True)
    assert torch.equal(compiled(X), X * 3 + (X + 1) * 3)


def test_is_compiling_is_true_under_all_its_names() -> None:
    def asked(x):
        names = (
            torch.compiler.is_compiling,
            torch.compiler.is_dynamo_compiling,
            torch._utils.is_compiling,
            torch._dynamo.is_compiling,
            torch._dynamo.external_utils.is_compiling,
        )
        return x + sum(name() for name in names)

    assert torch.equal(frontend.compile(asked, backend="eager", fullgraph=True)(X), X + 5)


def test_an_unknown_stance_is_an_error_of_each_call(counted) -> None:
    counting, compiled = counted
    compiled(X)
    with torch.compiler.set_stance("force_eagre"):
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"'force_eagre'.* it is one of default, force_eager"):
                compiled(X)
    compiled(X)
    assert (counting.graphs, counting.native) == (1, 0)
