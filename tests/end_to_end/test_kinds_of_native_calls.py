"""The kind of a break says what the program does, and its text names what the program calls."""

import logging
import random
import threading

import pytest
import torch

from framesmith import frontend

X = torch.ones(3)


def reason_of(function):
    with pytest.raises(frontend.FullGraphError) as caught:
        frontend.compile(function, backend="eager", fullgraph=True)(X.clone())
    return caught.value.reason


def local_names(x):
    return x + len(locals())


def global_names(x):
    return x + ("X" in globals())


def names_of_the_frame(x):
    return x + len(vars())


def listed_names(x):
    return x + len(dir())


@pytest.mark.parametrize("function", [local_names, global_names, names_of_the_frame, listed_names])
def test_what_reads_its_frame_is_introspection(function) -> None:
    reason = reason_of(function)
    assert reason.kind.id == "introspection"
    assert torch.equal(frontend.compile(function, backend="eager")(X), function(X))


def drawn(x):
    return x * random.random()


def chosen(x):
    return x * random.choice([1, 2])


def seeded(x):
    random.seed(3)
    return x


def drawn_by_its_own(x):
    return x * random.Random(3).random()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (drawn, "random.random()"),
        (chosen, "random.choice("),
        (seeded, "random.seed(int 3)"),
        (drawn_by_its_own, "Random.__new__("),
    ],
)
def test_what_python_draws_is_random_state(function, said) -> None:
    reason = reason_of(function)
    assert (reason.kind.id, said in reason.detail) == ("random-state", True)
    assert "torch.rand" in reason.kind.remedy


@pytest.mark.parametrize("name", ["rand", "uniform", "seed", "default_rng"])
def test_what_numpy_draws_is_random_state(name) -> None:
    numpy = pytest.importorskip("numpy")

    def by_name(x):
        return x, getattr(numpy.random, name)()

    reason = reason_of(by_name)
    assert (reason.kind.id, reason.detail) == ("random-state", f"numpy.random.{name}()")


@pytest.mark.parametrize("kind", ["RandomState", "default_rng"])
def test_a_generator_of_numpy_is_random_state(kind) -> None:
    numpy = pytest.importorskip("numpy")
    generator = getattr(numpy.random, kind)(3)
    assert reason_of(lambda x: x * float(generator.normal())).kind.id == "random-state"


def test_a_first_logger_is_logging() -> None:
    def f(x):
        logging.getLogger("a first one").debug("said")
        return x

    reason = reason_of(f)
    assert (reason.kind.id, "logging" in reason.detail) == ("print-or-log", True)


def test_a_lock_of_the_program_is_of_the_system() -> None:
    lock = threading.Lock()

    def f(x):
        with lock:
            return x

    assert reason_of(f).kind.id == "system-call"


def test_a_function_of_numpy_that_breaks_is_named() -> None:
    numpy = pytest.importorskip("numpy")
    for name in ("flipud", "unique", "histogram"):
        reason = reason_of(lambda x, name=name: getattr(numpy, name)(x.numpy()))
        assert f"{name}()" in reason.detail and "framesmith" not in reason.detail
    reason = reason_of(lambda x: numpy.cov(torch.stack([x, x + 1]).numpy()))
    assert "cov" in reason.detail and "framesmith" not in reason.detail
