"""Exceptions that reach a graph from elsewhere: hooks for saved tensors, handlers of signals, checkpoints around compiled functions."""

import gc
import logging
import random
import signal
import time
import warnings
from unittest.mock import Mock

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from framesmith import frontend
from framesmith.frontend.build_entry import EntryBuilder
from framesmith.graph.environment.silence import SILENCE
from framesmith.guards.kinds import GlobalState

BACKENDS = ("eager", "aot_eager")


@pytest.fixture(autouse=True)
def free_lock_of_logging():
    """`logging` takes its lock one line before the `try` that gives it back. A signal in between leaves it taken by this thread, and each
    other one, in tests that follow, would wait for ever."""
    yield
    while logging._lock._is_owned():
        logging._lock.release()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.last(torch.relu(self.first(x))) + x.sin()


def train(model, blocks, rounds=3):
    """Results and gradients of a model whose blocks are under checkpoints."""
    found = []
    for _ in range(rounds):
        x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        y = x
        for block in blocks:
            y = checkpoint(block, y, use_reentrant=False)
        y.sum().backward()
        found += [y.detach(), x.grad, *(one.grad.clone() for one in model.parameters())]
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_checkpoints_around_compiled_blocks(backend):
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = torch.nn.ModuleList(Block() for _ in range(3))
        blocks = [frontend.compile(block, backend=backend) if compiled else block for block in model]
        results.append(train(model, blocks))
        # a compiled backend saves its tensors when all has run, and is stopped there: the call changes nothing then
        if backend == "eager":
            results[-1].append(torch.tensor([block.calls for block in model]))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_a_checkpoint_around_a_function_with_effects():
    def make(log):
        def run(x):
            log.append("begin")
            y = x.sin().cos()
            log.append("middle")
            try:
                y = y * x.exp()
            finally:
                log.append("end")
            return y * 2

        return run

    results, blocks = [], torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    for compiled in (False, True):
        log = []
        run = frontend.compile(make(log), backend="eager") if compiled else make(log)
        for _ in range(3):
            x = torch.ones(2, requires_grad=True)
            checkpoint(run, x, use_reentrant=False).sum().backward()
            log.append(x.grad.tolist())
        results.append(log)
    assert results[0] == results[1]
    # torch runs the function again in autocast blocks, which end as ever
    assert torch.autocast_increment_nesting() == blocks
    torch.autocast_decrement_nesting()


@pytest.mark.parametrize("last", range(1, 7))
def test_a_hook_that_raises(last):
    """The hook is asked as often as in eager, and what came before it has happened."""

    def run(x, log):
        log.append("begin")
        y = x.sin()
        log.append("sine")
        y = torch.nn.functional.gelu(y.cos() * x)
        log.append("product")
        return y.exp().sum()

    def observe(function):
        packed, log = [], []

        def pack(tensor):
            packed.append(tensor.detach().sum().item())
            if len(packed) == last:
                raise KeyError("no room")
            return tensor

        x = torch.full((2,), 0.5, requires_grad=True)
        with saved_tensors_hooks(pack, lambda tensor: tensor):
            try:
                result = function(x, log)
                result.backward()
            except KeyError as error:
                return str(error), packed, log
        return result.item(), x.grad.tolist(), packed, log

    compiled = frontend.compile(run, backend="eager")
    for _ in range(3):
        assert observe(compiled) == observe(run)


def test_a_handler_that_raises_within_the_function():
    def run(x, log):
        log.append("begin")
        try:
            for _ in range(40):
                x = (x @ x).tanh()
            log.append("end")
        finally:
            log.append("finally")
        return x

    def late(*_):
        raise TimeoutError("too slow")

    compiled = frontend.compile(run, backend="eager")
    x = torch.eye(2)
    compiled(x, [])
    before = signal.signal(signal.SIGALRM, late)
    x, log = torch.randn(500, 500), []
    try:
        compiled(x, [])
        with pytest.raises(TimeoutError, match="too slow"):
            while True:  # however fast the machine is
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                log.clear()
                compiled(x, log)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert log[0] == "begin" and log.count("finally") == 1


def test_a_handler_that_raises_while_tracing():
    """The exception is the program's: neither a break nor a bug, and the call has changed nothing."""

    class TooSlow(Exception):
        pass

    log = []

    def run(x):
        log.append("begin")
        for _ in range(4000):
            x = torch.nn.functional.layer_norm(torch.einsum("ij->ji", x), (4,))
        return x

    def late(*_):
        raise TooSlow("while tracing")

    before = signal.signal(signal.SIGALRM, late)
    try:
        compiled = frontend.compile(run, backend="eager")
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(TooSlow, match="while tracing"):
            compiled(torch.eye(4))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert log == []


def test_a_hook_of_another_module_that_raises():
    def run(x):
        return torch.nn.functional.layer_norm(x.sin(), (3,)).sum()

    def observe(function):
        pack = Mock(side_effect=[ValueError("first"), *([torch.ones(1)] * 20)])
        with saved_tensors_hooks(pack, lambda tensor: tensor), pytest.raises(ValueError, match="first"):
            function(torch.ones(2, 3, requires_grad=True))
        return pack.call_count

    compiled = frontend.compile(run, backend="eager")
    for _ in range(2):
        assert observe(compiled) == observe(run) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("last", [1, 2, 3])
@pytest.mark.parametrize("handler", ["KeyboardInterrupt", "BaseException", "ValueError"])
def test_what_ends_the_process_is_seen_where_it_was_raised(kind, last, handler):
    """A hook raises what is no Exception, in the midst of a graph: effects before it have happened, handlers see it."""
    namespace = {}
    exec(
        "def run(x, log):\n    log.append('begin')\n    try:\n        y = x.sin()\n        log.append(y)\n"
        "        y = y.cos() * x\n        log.append('product')\n        y.detach().add_(1)\n"
        f"    except {handler} as error:\n        log.append(type(error))\n        return x * 2\n"
        "    finally:\n        log.append('finally')\n    return y.exp()",
        namespace,
    )

    def observe(function):
        packed, log = [], []

        def pack(tensor):
            packed.append(tensor.detach().sum().item())
            if len(packed) == last:
                raise kind(1)
            return tensor

        x = torch.full((2,), 0.5, requires_grad=True)
        with saved_tensors_hooks(pack, lambda tensor: tensor):
            try:
                result = function(x, log).tolist()
            except BaseException as error:
                result = repr(error)
        return result, packed, [one.tolist() if isinstance(one, torch.Tensor) else one for one in log]

    compiled = frontend.compile(namespace["run"], backend="eager")
    for _ in range(3):
        assert observe(compiled) == observe(namespace["run"])


def test_the_user_interrupts_a_graph():
    def run(x, log):
        log.append("begin")
        try:
            for _ in range(40):
                x = (x @ x).tanh()
            log.append("end")
        except KeyboardInterrupt:
            log.append("interrupted")
            raise
        return x

    compiled = frontend.compile(run, backend="eager")
    compiled(torch.eye(2), [])
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    x, log = torch.randn(500, 500), []
    try:
        compiled(x, [])
        with pytest.raises(KeyboardInterrupt):
            while True:  # however fast the machine is
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                log.clear()
                compiled(x, log)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert log in (["begin", "interrupted"], ["begin", "end"])  # the second: behind the call


class Late(Exception):
    """What a handler raises."""


def raise_late(*_):
    raise Late("too slow")


@pytest.mark.parametrize("handler", [signal.default_int_handler, raise_late])
@pytest.mark.parametrize("caught", ["KeyboardInterrupt", "Late", "BaseException"])
@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_while_a_continuation_is_compiled_is_seen_in_its_frames(
    monkeypatch, handler, caught, at
):
    namespace = {"Late": Late}
    exec(
        "def run(x, log):\n    log.append('begin')\n    try:\n        y = x.sin()\n        print('break')\n        y = y.cos()\n"
        f"        log.append('middle')\n    except {caught} as error:\n        log.append(repr(error))\n"
        "    finally:\n        log.append('finally')\n    return x * 2",
        namespace,
    )
    build, built = EntryBuilder.build, []

    def interrupted(self, values):
        built.append(1)
        if len(built) == at:
            signal.raise_signal(signal.SIGINT)
        return build(self, values)

    monkeypatch.setattr(EntryBuilder, "build", interrupted)
    before, log = signal.signal(signal.SIGINT, handler), []
    error = KeyboardInterrupt() if handler is not raise_late else Late("too slow")
    try:
        frontend.compile(namespace["run"], backend="eager")(torch.ones(2), log)
        raised = None
    except (KeyboardInterrupt, Late) as seen:
        raised = repr(seen)
    finally:
        signal.signal(signal.SIGINT, before)
    is_caught = at == 2 and caught in (type(error).__name__, "BaseException")
    assert raised == (None if is_caught else repr(error))
    assert log == ([] if at == 1 else ["begin", *([repr(error)] if is_caught else []), "finally"])


def interrupt_often(backend, seconds):
    """Alarms at any moment of a trace. Gives how many were raised and what was not as before afterwards."""
    armed, raised, wrong = [], 0, []

    def late(*_):
        if armed:
            raise Late

    def run(x):
        for _ in range(4):
            x = torch.nn.functional.layer_norm(torch.einsum("ij->ji", x), (4,)).view(4, 4) * 2
        return x

    x, draw, state = torch.eye(4), random.Random(0), GlobalState.capture()
    expected = run(x)
    compiled = frontend.compile(run, backend=backend)
    compiled(x)  # imports
    frontend.reset()
    began = time.perf_counter()
    compiled(x)
    length = time.perf_counter() - began
    handlers = signal.signal(signal.SIGALRM, late), signal.getsignal(signal.SIGINT)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        frontend.reset()
        compiled = frontend.compile(run, backend=backend)
        armed.append(True)
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0002, length))
            compiled(x)
            armed.clear()
        except Late:
            armed.clear()
            raised += 1
        signal.setitimer(signal.ITIMER_REAL, 0)  # the next one is not interrupted by this one's
        if signal.getsignal(signal.SIGALRM) is not late or signal.getsignal(signal.SIGINT) is not handlers[1]:
            wrong.append("handlers")
        if not state.holds():
            wrong.append(state.explain())
        with warnings.catch_warnings(record=True) as caught, SILENCE:
            warnings.warn("unheard", stacklevel=1)
        if caught:
            wrong.append("warnings")
        if not gc.isenabled():
            wrong.append("collector")
        if not torch.equal(compiled(x), expected):
            wrong.append("result")
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handlers[0])
    return raised, wrong


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_at_any_moment_of_a_trace_leaves_everything_as_it_was(backend):
    raised, wrong = interrupt_often(backend, 2)
    assert raised > 1  # how many there are in two seconds depends on the machine
    assert not wrong


def test_a_backend_that_takes_long_can_be_interrupted():
    def slow(module, inputs):
        time.sleep(60)
        return module

    before = signal.signal(signal.SIGALRM, raise_late)
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Late):
            frontend.compile(lambda x: x + 1, backend=slow)(torch.ones(2))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 30


def test_a_handler_that_only_takes_note_runs_while_tracing():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(torch.ones(1)))

    def run(x):
        for _ in range(600):
            x = x.sin()
        return x

    compiled = frontend.compile(run, backend="eager", fullgraph=True)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        found = compiled(torch.ones(2))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) > 1
    assert torch.equal(found, run(torch.ones(2)))
