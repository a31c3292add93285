"""Functions of the same code share entries: what is guarded decides, and everything else stays each function's own."""

import gc
import itertools
import subprocess
import sys
import threading
import warnings
import weakref

import pytest
import torch
from tests.end_to_end.instance_programs import FUNCTIONS, MODULES
from tests.end_to_end.instances import check_instances

from framesmith import frontend
from framesmith.frontend import events
from framesmith.guards.versioned import VersionedGuards

X = torch.ones(2)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", MODULES)
def test_modules_that_differ_in(name, backend):
    if backend and name == "sizes of arguments":
        pytest.skip("AOTAutograd leaves a mark on arguments whose sizes are symbolic")
    source, compiles = MODULES[name]
    check_instances(source, compiles=None if backend else compiles, backend=backend)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_differ_in(name, dynamic):
    source, compiles = FUNCTIONS[name]
    check_instances(source, compiles=None if dynamic else compiles, dynamic=dynamic)


class Counter:
    """A backend that counts."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, module, examples):
        self.graphs += 1
        return module.forward


def scaling(k, broken=False):
    def f(x):
        y = x * k
        if broken:
            print(end="")
        return y + 1

    return f


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.inner(x)
        print(end="")
        return y.relu()


# -- what belongs to each function ------------------------------------------------------------------
def test_each_function_explains_what_serves_it():
    first, second = (frontend.compile(scaling(torch.ones(2) * k, True), backend="eager") for k in (1, 2))
    before = events.counters["stats"]["graphs"], events.counters["graph_break"].total()
    first(X), second(X)
    made = [
        now - old
        for now, old in zip(
            (events.counters["stats"]["graphs"], events.counters["graph_break"].total()), before
        )
    ]
    assert made == [2, 1]
    one, other = frontend.explain(first)(), frontend.explain(second)()
    assert (one.graph_count, one.break_count) == (other.graph_count, other.break_count) == (2, 1)
    assert [entry.is_shared for entry in (*one.entries, *other.entries)] == [False, False, True, True]
    assert other.trace_seconds == 0 and "shared with a function that was compiled before" in other.text()
    assert one.recompiles == other.recompiles == ()


def test_the_recompile_limit_counts_the_entries_that_serve_one_function():
    counter = Counter()
    many = [frontend.compile(scaling("ab"[k % 2] * (k + 1)), backend=counter) for k in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in many:
            with pytest.raises(TypeError):  # a tensor times a str
                each(X)

    def f(x, text):
        return x * len(text)

    some = [frontend.compile(lambda x, text: f(x, text), backend=counter) for _ in range(2)]
    with frontend.config.patch(recompile_limit=2):
        for each in some:
            for text in "a", "bb":
                assert each(X, text)[0] == len(text)
        for each in some:
            with pytest.warns(frontend.RecompileLimitWarning):
                assert each(X, "ccc")[0] == 3


def test_twenty_kinds_of_one_code_reach_no_limit():
    counter = Counter()

    def make(text):
        return lambda x: x * len(text)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [int(frontend.compile(make("a" * k), backend=counter)(X)[0]) for k in range(20)] == list(
            range(20)
        )
        kept = [frontend.compile(make("a" * k), backend=counter) for k in range(20)]
        assert [int(each(X)[0]) for each in kept] == list(range(20))


def test_taking_an_entry_over_is_no_recompilation():
    def f(x, k):
        return x * len(k)

    first, second = (frontend.compile(lambda *a: f(*a), backend="eager") for _ in range(2))
    first(X, "a"), first(X, "bb")
    assert len(frontend.explain(first)().recompiles) == 1
    with frontend.config.patch(error_on_recompile=True):
        assert second(X, "a")[0] == 1 and second(X, "bb")[0] == 2
        with pytest.raises(frontend.RecompileError):
            second(X, "ccc")


def test_what_one_function_no_longer_specializes_on_the_others_do():
    """A function that is called with many names gets an entry for any name, with a graph break; another one does not."""

    def make():
        def f(x, name):
            return x * {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}[name]

        return f

    busy, calm = (frontend.compile(make(), backend="eager") for _ in range(2))
    for name in "abcdef":
        busy(X, name)
    assert frontend.explain(busy)().break_count == 1
    assert calm(X, "f")[0] == 6 and frontend.explain(calm)().break_count == 0


def test_different_backends_and_options_share_nothing():
    counters = [Counter(), Counter()]
    functions = [
        frontend.compile(scaling(X), backend=counter, fullgraph=full)
        for counter in counters
        for full in (False, True)
    ]
    for each in functions:
        each(X)
    assert [counter.graphs for counter in counters] == [2, 2]


def test_other_settings_and_new_rows_make_other_entries():
    counter = Counter()

    def make(k):
        return lambda x: (x * k).sum().item()

    functions = [frontend.compile(make(X), backend=counter) for _ in range(3)]
    assert functions[0](X) == 2 and counter.graphs == 1
    with frontend.config.patch(capture_scalar_outputs=True):
        assert functions[1](X) == 2 and counter.graphs == 2
    assert functions[2](X) == 2 and counter.graphs == 2
    assert (
        frontend.explain(functions[1])().break_count == 0
        and frontend.explain(functions[2])().break_count == 1
    )


def test_a_marked_size_is_symbolic_although_a_static_entry_fits():
    counter = Counter()
    first, second = (frontend.compile(scaling(torch.ones(())), backend=counter) for _ in range(2))
    first(torch.ones(4))
    marked = torch.ones(4)
    frontend.mark_dynamic(marked, 0)
    second(marked)
    assert counter.graphs == 2
    second(torch.ones(7)), first(torch.ones(9))
    assert counter.graphs == 2


def test_reset_forgets_what_is_shared():
    counter = Counter()
    first, second = (frontend.compile(scaling(X * k), backend=counter) for k in (1, 2))
    first(X), second(X)
    frontend.reset()
    second(X), first(X)
    assert counter.graphs == 2


def test_changed_defaults_are_those_of_one_function():
    def make(k):
        def f(x, n=k):
            return x * n

        return f

    originals = [make(2.0) for _ in range(3)]
    compiled = [frontend.compile(each, backend="eager") for each in originals]
    assert [each(X)[0].item() for each in compiled] == [2, 2, 2]
    originals[1].__defaults__ = (5.0,)
    with pytest.warns(UserWarning, match="was replaced after compile"):
        compiled[1](X)
    assert [each(X)[0].item() for each in compiled] == [2, 5, 2]


def test_code_that_is_replaced_in_one_function_stays_in_the_others():
    originals = [scaling(torch.full((2,), k)) for k in (2.0, 3.0, 4.0)]
    compiled = [frontend.compile(each, backend="eager") for each in originals]
    assert [each(X)[0].item() for each in compiled] == [3, 4, 5]
    old = originals[1].__code__
    originals[1].__code__ = (lambda broken, k: lambda x: (x - k, broken)[0])(1, 2).__code__
    assert [each(X)[0].item() for each in compiled] == [3, -2, 5]
    originals[1].__code__ = old
    assert [each(X)[0].item() for each in compiled] == [3, 4, 5]


def test_a_closure_over_a_function_that_was_compiled_strictly_is_strict():
    def make(fullgraph):
        def inner(x):
            y = x * 2
            print(end="")
            return y

        inner = frontend.compile(inner, backend="eager", fullgraph=fullgraph)
        return frontend.compile(lambda x: inner(x) + 1, backend="eager")

    for order in (False, True, False), (True, False, True):
        for strict, each in [(strict, make(strict)) for strict in order]:
            if strict:
                with pytest.raises(frontend.FullGraphError):
                    each(X)
            else:
                assert each(X)[0] == 3


# -- lifetimes --------------------------------------------------------------------------------------
def modules():
    for _ in range(3):
        module = Block()
        yield frontend.compile(module, backend="eager"), [module, module.inner, module.inner.weight]


def closures():
    for number in range(3):
        tensor = torch.ones(2) * number
        function = scaling(tensor, True)
        compiled = frontend.compile(function, backend="eager")
        yield compiled, [tensor, function, compiled]


def methods():
    for number in range(3):
        holder = type("Holder", (), {})
        instance = Holder(number)
        del holder
        yield frontend.compile(instance.scale, backend="eager"), [instance, instance.weight]


class Holder:
    def __init__(self, number):
        self.weight = torch.ones(2) * number

    def scale(self, x):
        return x * self.weight


def functions_of_other_globals():
    code = compile("def g(x):\n    y = x * K\n    print(end='')\n    return y - K", "m", "exec")
    for number in range(3):
        space = {"K": torch.ones(2) * number}
        exec(code, space)
        inner, value = space.pop("g"), space["K"]
        wrapped = (lambda inner: lambda x: inner(x) + 1)(inner)
        yield frontend.compile(wrapped, backend="eager"), [inner, value, wrapped]


@pytest.mark.parametrize("make", [modules, closures, methods, functions_of_other_globals])
@pytest.mark.parametrize("called", [(0, 1, 2), (1,), ()])
def test_they_are_dropped_in_any_order_and_each_dies_at_once(make, called):
    def dropped(order):
        made = list(make())
        things = [thing for thing, _ in made]
        references = [[weakref.ref(part) for part in parts] for _, parts in made]
        del made
        for number in called * 2:
            things[number](X)
        for place, number in enumerate(order):
            things[number] = None
            assert [reference() for reference in references[number]] == [None] * len(references[number])
            for other in order[place + 1 :]:
                things[other](X)

    dropped((0, 1, 2))  # what torch makes once in a process
    gc.collect()
    gc.disable()
    try:
        for order in itertools.permutations(range(3)):
            dropped(order)
    finally:
        gc.enable()


def test_an_entry_outlives_the_function_for_which_it_was_made():
    counter = Counter()
    first, second = (frontend.compile(Block(), backend=counter) for _ in range(2))
    first(X)
    assert counter.graphs == 2
    del first
    second(X)
    assert counter.graphs == 2


def test_an_entry_that_knows_a_local_class_dies_with_it():
    def call_with_local(function):
        class Local:
            k = 2

        assert function(X, Local())[0] == 2
        return weakref.ref(Local)

    def make():
        return lambda x, holder: x * holder.k

    first, second = (frontend.compile(make(), backend="eager") for _ in range(2))
    second(X, type("Other", (), {"k": 1})())
    local = call_with_local(first)
    del first
    gc.collect()
    assert local() is None


# -- threads and processes --------------------------------------------------------------------------
def test_threads_compile_the_shared_entry_once():
    counter = Counter()
    blocks = [Block() for _ in range(8)]
    expected = [[block(X + step) for step in range(3)] for block in blocks]
    for block in blocks:
        frontend.compile(block, backend=counter)
    barrier, results = threading.Barrier(len(blocks)), {}

    def call(number):
        barrier.wait()
        results[number] = [blocks[number](X + step) for step in range(3)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.graphs == 2
    for number in range(len(blocks)):
        assert all(map(torch.equal, results[number], expected[number]))


FORKS = """
import threading, time, torch
from framesmith import frontend
from tests.end_to_end.children import failing_forks
torch.set_num_threads(1)

def slow(module, examples):
    time.sleep(0.02)
    return module.forward

def make(k):
    return lambda x: x * k

others = [frontend.compile(make(torch.ones(2) * k), backend=slow) for k in range(40)]
def call_all():
    for other in others:
        frontend.reset()
        other(torch.ones(2))

thread = threading.Thread(target=call_all)
thread.start()
failed = failing_forks(6, 0.01, lambda: all(others[k](torch.ones(2)).tolist() == [k] * 2 for k in (0, 20, 39)))
thread.join()
print(failed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_a_shared_entry_is_made_calls_all_of_them():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=500
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore:.*was replaced after compile")
def test_an_entry_made_while_defaults_were_taken_away_does_not_hide_later_ones():
    def new():
        def scaled(x, by=2.0):
            return x * by

        return scaled

    (one, first), (other, second) = [
        (made, frontend.compile(made, backend="eager")) for made in (new(), new())
    ]
    first(X)
    one.__defaults__ = None
    first(X)
    second(X)
    other.__defaults__ = (5.0,)
    second(X)  # made with the former ones, as a warning says
    assert torch.equal(second(X), other(X))


# -- the first calls --------------------------------------------------------------------------------
def test_versions_are_known_when_an_entry_is_first_called(monkeypatch):
    rechecks = []
    recheck = VersionedGuards.recheck
    compiled, other = (
        frontend.compile(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), backend="eager")
        for _ in range(2)
    )
    compiled(X)
    monkeypatch.setattr(VersionedGuards, "recheck", lambda self: rechecks.append(self) or recheck(self))
    for _ in range(3):
        compiled(X), other(X)
    assert not rechecks
