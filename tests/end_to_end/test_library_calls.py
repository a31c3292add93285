"""Calls of the standard library, and of torch's functions that manage objects, which run natively as a whole if they break inside."""

import collections
import copy
import logging
import queue
import random
import threading

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch import nn

from framesmith import frontend

X = torch.tensor([1.0, 2.0])


def breaks_of(function, *args):
    """The lines at which a function breaks in its first call, and how many entries there are."""
    compiled = frontend.compile(function, backend="eager")
    compiled(*args)
    explanation = frontend.explain(compiled)()
    return [(record.file, record.function) for record in explanation.breaks], len(explanation.entries)


class Opaque:
    def __init__(self):
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return Opaque()


def copies(x, state):
    y = x + 1
    other = copy.deepcopy(state)
    other["numbers"].append(3)
    return y * 2, other["numbers"], other["module"].weight is state["module"].weight


def draws(x):
    return x * random.choice([3]), random.sample([1], 1)


def queues(x, line):
    line.put(x)
    line.put(x + 1)
    try:
        return line.get() * 2, line.get_nowait(), line.get_nowait()
    except queue.Empty as error:
        return x, type(error)


def logs(x):
    logging.getLogger("of a library call").setLevel(logging.ERROR)
    logging.getLogger("of a library call").info("not shown")
    return x + 1


def hooks(x, model):
    seen = []
    handle = model.register_forward_hook(lambda module, args, output: seen.append(output.sum()))
    result = model(x)
    handle.remove()
    return result, seen


PROGRAMS = [
    (copies, lambda: (X, {"view": X[:1], "numbers": [1, 2], "module": nn.Linear(2, 2)})),
    (draws, lambda: (X,)),
    (queues, lambda: (X, queue.Queue())),
    (logs, lambda: (X,)),
    (hooks, lambda: (X, nn.Linear(2, 2))),
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_breaks_are_at_the_line_of_the_user(program, args):
    torch.manual_seed(0)
    places, _ = breaks_of(program, *args())
    assert {function for _, function in places} <= {program.__name__}
    assert all(file == __file__ for file, _ in places)


def test_a_message_that_is_logged_is_output_in_order():
    logger = logging.getLogger("of a library call that logs")

    def program(x):
        y = x + 1
        logger.warning("shown")
        return y * 2

    compiled = frontend.compile(program, backend="eager")
    compiled(X)
    first = frontend.explain(compiled)().breaks[0]
    assert (first.kind, first.detail) == ("print-or-log", "a message is logged")
    logger.setLevel(logging.ERROR)
    logger.isEnabledFor(logging.WARNING)
    assert not frontend.explain(program)(X).breaks


def test_one_entry_before_the_call_and_one_behind_it():
    state = {"numbers": [1, 2], "module": nn.Linear(2, 2), "opaque": Opaque()}
    places, entries = breaks_of(copies, X, state)
    assert (len(places), entries) == (1, 2)


CALLS = """
import collections, contextlib, copy, functools, heapq, queue, random, threading, torch

class Opaque:
    def __init__(self, value):
        self.value, self.lock = value, threading.Lock()

    def __deepcopy__(self, memo):
        LOG.append("copied")
        return Opaque(self.value * 2)

class Doubling(collections.UserDict):
    def __setitem__(self, key, value):
        print("stores", key)
        super().__setitem__(key, value * 2)

LOG = []

def deep(x):
    return copy.deepcopy([Opaque(x), {{"a": (Opaque(x + 1),)}}])[1]["a"][0].value, list(LOG)

def errors(x):
    try:
        random.sample([1, 2], 5)
    except ValueError as error:
        found = str(error)
    try:
        copy.deepcopy(threading.Lock())
    except TypeError as error:
        return x, found, str(error), error.__traceback__.tb_next.tb_frame.f_code.co_name

def calls_back(x):
    held = Doubling(a=x, b=x + 1)
    held.update(c=x)
    return held["a"] + held["c"], len(held)

def drawn(x):
    random.seed(3)
    values = list(range(6))
    random.shuffle(values)
    return x * values[0], values, random.uniform(1, 2), random.gauss(0, 1)

def merged(x):
    return list(heapq.merge([1, 4], [2, 3])), heapq.nlargest(2, [x, x + 1, x - 1], key=lambda one: one.sum().item())

@functools.lru_cache
def cached(number):
    print("computes", number)
    return number + 1

@contextlib.contextmanager
def opened(x):
    print("opens")
    yield x + 1
    print("closes")

def wrapped(x):
    with opened(x) as y:
        z = y * cached(2)
    return z

def waits(x):
    event, results = threading.Event(), []
    def work():
        results.append((x + 1).sum().item())
        event.set()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return event.is_set(), results, x * 2

def inside_try(x):
    line = queue.Queue()
    for number in range(3):
        try:
            line.put_nowait(x + number)
            first = line.get_nowait()
            line.get_nowait()
        except queue.Empty:
            x = x + first
        finally:
            LOG.append(number)
    return x, list(LOG)

def f(x):
    LOG.clear()
    return {body}(x)

def args():
    return (torch.tensor([1.0, 2.0]),)
"""


@pytest.mark.parametrize(
    "body", ["deep", "errors", "calls_back", "drawn", "merged", "wrapped", "waits", "inside_try"]
)
def test_they_do_what_they_do_in_eager(body):
    check_source(CALLS.format(body=body), calls=4)


def test_code_that_wraps_functions_of_the_user_is_left_open():
    """The graph of what a wrapper calls is not lost for a break in the wrapper."""

    def program(x):
        kept = collections.OrderedDict(a=x + 1)
        kept.move_to_end("a")
        return kept["a"] * 2

    check(program, X)
    source = """
import contextlib, torch

@contextlib.contextmanager
def opened(x):
    print("opens")
    yield x + 1

def f(x):
    with opened(x * 3) as y:
        return y * 2

def args():
    return (torch.ones(2),)
"""
    assert check_source(source).operators > 0


def test_calls_beyond_the_recompile_limit_do_not_ask_why():
    """Each call makes a class, which no entry knows: beyond the limit nothing is compiled or compared any more."""

    def program(x):
        class Made:
            factor = 2

        return x * Made.factor

    compiled = frontend.compile(program, backend="eager")
    with pytest.warns(frontend.RecompileLimitWarning):
        for _ in range(12):
            assert compiled(X).tolist() == [2.0, 4.0]
    before = len(frontend.explain(compiled)().recompiles)
    for _ in range(3):
        assert compiled(X).tolist() == [2.0, 4.0]
    assert len(frontend.explain(compiled)().recompiles) == before


LSTM = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)


def runs_over_packed(packed):
    y = packed.data + 1
    output, (hidden, cell) = LSTM(packed)
    return y.sum(), output.data, hidden * 2, cell


def packs_runs_and_pads(x, lengths):
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, hidden = LSTM(packed)
    padded, counts = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return padded * 2, counts, hidden[0]


def test_a_recurrent_module_over_a_packed_sequence_breaks_once():
    x, lengths = torch.randn(3, 5, 3), torch.tensor([5, 2, 3])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    breaks, _ = breaks_of(runs_over_packed, packed)
    assert breaks == [(__file__, "runs_over_packed")]
    breaks, _ = breaks_of(packs_runs_and_pads, x, lengths)
    assert breaks == 3 * [(__file__, "packs_runs_and_pads")]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_packed_sequences_of_several_lengths_are_as_in_eager(backend):
    compiled = frontend.compile(packs_runs_and_pads, backend=backend)
    for lengths in ([5, 2, 3], [1, 5, 4], [5, 5, 5]):
        x, expected = torch.randn(3, 5, 3), []
        for function in (packs_runs_and_pads, compiled):
            LSTM.zero_grad()
            results = function(x, torch.tensor(lengths))
            sum(one.float().sum() for one in results).backward()
            expected.append([*results, *(parameter.grad for parameter in LSTM.parameters())])
        torch.testing.assert_close(expected[0], expected[1])


def test_a_recurrent_module_over_a_tensor_stays_in_the_graph():
    compiled = frontend.compile(lambda x: LSTM(x)[0] * 2, backend="eager", fullgraph=True)
    x = torch.randn(3, 5, 3)
    torch.testing.assert_close(compiled(x), LSTM(x)[0] * 2)
