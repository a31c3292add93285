"""Functions under `lru_cache` and `cache`: results, counters and evictions are those of eager after each call."""

import functools
import weakref

import einops
import pytest
import torch
from tests.end_to_end.worlds import load

from framesmith import frontend

SHAPES = [(2,), (2,), (3,), (2, 3), (4,)]
PROGRAMS = {
    "one call": "return x * k(3)",
    "two calls": "return x * k(3) + k(3)",
    "several arguments": "return x * k(3, b=1) + k(3, 1) + k(3.0)",
    "after a break": "y = x * k(3); frontend.graph_break(); return y * k(3)",
    "a size": "return x * k(x.shape[0])",
    "a size and a break": "y = x * k(3); frontend.graph_break(); return y * k(3) * k(x.shape[0])",
    "evictions": "return x * k(1) * k(2) * k(x.dim()) * k(1)",
    "a loop": "\\n  for i in range(3): x = x * k(i)\\n  return x",
    "a loop of breaks": "\\n  for i in range(3):\\n    x = x * k(i); frontend.graph_break()\\n  return x",
    "a method": "return x * thing.k(2) + thing.k(2)",
    "cleared": "y = x * k(3); k.cache_clear(); return y * k(3)",
    "asked": "y = x * k(3); info = k.cache_info(); return y, k(3), info",
    "stored nowhere": "seen.append(1); return x * k(len(seen))",
    "in a handler": "\\n  try:\\n    return x * k(3) + k('a')\\n  finally:\\n    k(4)",
    "results that are dicts": "return x * table(3)['n'], table(3), table(4)",
    "a tensor": "return x + ones(3).sum(), ones(3)",
}
SOURCE = """
import functools
import torch
from framesmith import frontend

seen = []

@functools.lru_cache({settings})
def k(n, b=0):
    return 2 if isinstance(n, str) else n * 2 + b

@functools.lru_cache({settings})
def table(n):
    return {{"n": n}}

@functools.lru_cache({settings})
def ones(n):
    return torch.ones(n)

class Thing:
    @functools.lru_cache({settings})
    def k(self, n):
        return n + 1

thing = Thing()

def infos():
    return [one.cache_info() for one in (k, table, ones, Thing.k)]

def f(x):
  {body}
"""


@pytest.mark.parametrize("settings", ["maxsize=128", "maxsize=None", "maxsize=2", "maxsize=0"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_counters_are_those_of_eager_after_each_call(program: str, settings: str) -> None:
    text = SOURCE.format(body=PROGRAMS[program].replace("\\n", "\n"), settings=settings)
    eager, ours = load(text, "cached"), load(text, "cached")
    compiled = frontend.compile(ours["f"], backend="eager")
    for shape in SHAPES:
        expected, found = eager["f"](torch.ones(shape)), compiled(torch.ones(shape))
        assert str(found) == str(expected), shape
        assert ours["infos"]() == eager["infos"](), shape


def test_a_guard_runs_no_code_of_a_cached_function() -> None:
    calls = []

    @functools.lru_cache(maxsize=1)
    def k(n: int) -> int:
        calls.append(n)
        return n

    compiled = frontend.compile(lambda x: x + k(3), backend="eager")
    compiled(torch.ones(1))
    k(4)
    compiled(torch.ones(1))
    k.cache_clear()
    compiled(torch.ones(1))
    assert calls == [3, 4, 3, 3] and k.cache_info().misses == 1


def test_keys_with_python_comparisons_run_natively() -> None:
    class Key:
        asked = 0

        def __hash__(self) -> int:
            Key.asked += 1
            return 1

        def __eq__(self, other: object) -> bool:
            Key.asked += 1
            return self is other

    key = Key()
    k = functools.lru_cache(lambda one: 2)
    compiled = frontend.compile(lambda x: x + k(key), backend="eager")
    for number in range(1, 4):
        compiled(torch.ones(1))
        assert Key.asked == number


def test_what_a_cleared_cache_held_dies_at_once() -> None:
    k = functools.cache(lambda: torch.ones(1))
    compiled = frontend.compile(lambda x: x + k(), backend="eager")
    for _ in range(3):
        compiled(torch.ones(1))
    result = weakref.ref(k())
    k.cache_clear()
    assert result() is None


def test_a_promised_constant_after_a_change():
    """A cached function that is promised to be constant is called although changes wait for their replay."""

    def answer():
        return 3

    log, asked = [], functools.lru_cache(torch.compiler.assume_constant_result(answer))

    def run(x):
        log.append(1)
        return x * asked()

    compiled = frontend.compile(run, backend="eager", fullgraph=True)
    for count in (1, 2):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0))
        assert log == [1] * count and asked.cache_info()[:2] == (count - 1, 1)


@pytest.mark.parametrize("failures", [1, 2, 9])
def test_a_function_that_raises_is_called_once(failures):
    def make():
        calls = []

        @functools.cache
        def load(key):
            calls.append(key)
            if len(calls) <= failures:
                raise ValueError(f"attempt {len(calls)}")
            return 7

        def run(x):
            calls.append("begin")
            try:
                return x * load(1)
            except ValueError as error:
                return str(error)

        return run, calls

    (run, expected), (original, found) = make(), make()
    compiled = frontend.compile(original, backend="eager")
    for _ in range(5):
        assert repr(compiled(torch.ones(1))) == repr(run(torch.ones(1)))
        assert found == expected


def test_a_failure_belongs_to_its_own_call():
    """What a call inside of `map` raised while tracing is not raised by another call of the function."""

    def make():
        @functools.cache
        def load(key):
            if key == 7:
                raise ValueError("seven")
            return key

        def run(x, y):
            try:
                list(map(load, [7]))
            except ValueError:
                pass
            return x + load(y)

        return run

    compiled, run = frontend.compile(make(), backend="eager"), make()
    for number in (1, 2, 3):
        assert torch.equal(compiled(torch.ones(1), number), run(torch.ones(1), number))


def test_a_function_that_leaves_the_program():
    def make():
        @functools.cache
        def leave():
            raise SystemExit(3)

        def run(x):
            try:
                leave()
            except SystemExit as error:
                return x + error.code

        return run

    compiled, run = frontend.compile(make(), backend="eager"), make()
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(1)), run(torch.ones(1)))


BEHIND_CHANGES = """
import functools
import torch

registry, seen = {}, []

class Recipe:
    def __init__(self, text):
        self.parts = text.split()

@functools.lru_cache(256)
def parse(text, rank):
    return Recipe(text), len(text) * rank

@functools.lru_cache(256)
def look(text, rank):
    return Recipe(text), len(registry)

def f(x, text):
    kind = type(x)
    if kind not in registry:
        registry[kind] = len(registry)
        seen.append(kind)
    recipe, number = NAME(text, x.dim())
    return x * number + len(recipe.parts), len(registry), len(seen), recipe.parts
"""


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["parse", "look"])
def test_a_miss_behind_a_change_that_its_code_cannot_see(name, backend):
    eager, namespace = (load(BEHIND_CHANGES.replace("NAME", name), "program") for _ in range(2))
    compiled = frontend.compile(namespace["f"], backend=backend, fullgraph=name == "parse")
    for text in ("a b", "a b", "a b c", "a b"):
        for clears in (False, True):
            x = torch.ones(2, 3)
            expected, found = eager["f"](x, text), compiled(x, text)
            assert torch.equal(found[0], expected[0]) and found[1:] == expected[1:]
            assert namespace[name].cache_info() == eager[name].cache_info()
            for one in (eager, namespace) if clears else ():
                one["registry"].clear()


def test_einops_is_captured_in_its_first_call():
    backends = einops._backends
    known = backends._type2backend.copy(), backends._loaded_backends.copy()
    backends._type2backend.clear()
    backends._loaded_backends.clear()
    try:
        einops.einops._prepare_transformation_recipe.cache_clear()
        einops.einops._reconstruct_from_shape.cache_clear()
        compiled = frontend.compile(
            lambda x: einops.rearrange(x, "b (h d) -> h b d", h=2), backend="eager", fullgraph=True
        )
        for size in (2, 3, 5):
            x = torch.randn(size, 4)
            assert torch.equal(compiled(x), x.view(size, 2, 2).transpose(0, 1))
    finally:
        backends._type2backend.update(known[0])
        backends._loaded_backends.update(known[1])


def test_a_hit_in_a_block_of_the_trace():
    @functools.lru_cache
    def double(number):
        return number * 2

    def program(x):
        with torch.autocast("cpu", enabled=False):
            x = x + 1
        with torch.autocast("cpu", enabled=False):
            return x * double(3)

    double(3)
    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    for size in (2, 3):
        assert torch.equal(compiled(torch.ones(size)), program(torch.ones(size)))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_miss_behind_a_write_to_a_tensor_that_its_code_sees(backend):
    source = """
import functools
import torch

buffer = torch.zeros(2)
held = {"tensors": [buffer[:1]]}

@functools.lru_cache
def look(number):
    return buffer.tolist(), held["tensors"][0].item(), number

@functools.lru_cache
def double(number):
    return number * 2

@functools.lru_cache
def draw(number):
    return torch.rand(number).tolist(), drawn(1).item()

drawn = torch.rand

def f(x):
    buffer.add_(x)
    noise = torch.rand(2)
    return (look(3), draw(2), noise.tolist()), x * double(4)
"""
    eager, compiled = load(source, "program"), load(source, "program")
    function = frontend.compile(compiled["f"], backend=backend)
    for value in (3.0, 4.0):
        torch.manual_seed(7)
        expected = eager["f"](torch.full((2,), value))
        torch.manual_seed(7)
        found = function(torch.full((2,), value))
        assert found[0] == expected[0] and torch.equal(found[1], expected[1])
        for one in (eager, compiled):
            one["look"].cache_clear()
            one["double"].cache_clear()
            one["draw"].cache_clear()


@functools.lru_cache(10)
def look_up(number: int) -> str:
    try:
        return {3: "abc"}[number]
    except KeyError as error:
        if number == 6:
            raise ValueError("from it") from error
        if number == 7:
            raise ValueError("from none") from None
        raise ValueError("in its handling") from {8: OSError("from another")}.get(number)


@functools.lru_cache(10)
def refuse_large(number: int) -> int:
    if number > 4:
        raise ValueError(f"{number} is too large")
    return number


def chain_of(error: BaseException | None) -> list[object]:
    if error is None:
        return []
    return [
        repr(error),
        error.__suppress_context__,
        chain_of(error.__cause__),
        chain_of(error.__context__),
    ]


@pytest.mark.parametrize("function", [look_up, refuse_large])
def test_what_it_raises_has_the_chain_of_eager(function):
    def run(x, number):
        return x * len(str(function(number)))

    def handle(x, number):
        try:
            return run(x, number)
        except ValueError as error:
            raise RuntimeError(f"outer {error}")  # noqa: B904

    for program in (run, handle):
        compiled = frontend.compile(program, backend="eager")
        for number in (3, 5, 5, 4, 6, 3, 7, 8, 5):
            found = []
            for called in (program, compiled):
                function.cache_clear()
                try:
                    found.append(called(torch.ones(2), number).tolist())
                except (ValueError, RuntimeError) as error:
                    found.append(chain_of(error))
            assert found[0] == found[1]
