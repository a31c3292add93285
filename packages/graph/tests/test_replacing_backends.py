"""What is known of callables that replace the operations of a graph."""

import gc

import pytest
import torch

from framesmith.graph import replacing_backends
from framesmith.graph.replacing_backends import (
    OperationsReplaced,
    Reliance,
    is_known_to_replace,
    note_replacing,
)


class Backend:
    __slots__ = ("__weakref__",)


class Strong:
    __slots__ = ()


def context(*, traced: bool) -> torch._guards.TracingContext:
    made = torch._guards.TracingContext(None)
    if traced:
        made.params_flat = []
    return made


def test_a_backend_is_known_by_identity_while_it_lives():
    backend, other = Backend(), Backend()
    note_replacing(backend)
    assert is_known_to_replace(backend) and not is_known_to_replace(other)
    address = id(backend)
    del backend
    gc.collect()
    assert address not in replacing_backends._KNOWN


def test_one_without_weak_references_is_known_too():
    backend = Strong()
    note_replacing(backend)
    assert is_known_to_replace(backend)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("broken", [False, True])
def test_a_graph_that_relies_on_its_operations_is_traced_again(asked, traced, broken):
    backend = Backend()
    reliance = Reliance(True, backend)
    if asked:
        assert reliance.ask()
    if broken or (traced and asked):
        with pytest.raises(OperationsReplaced):
            reliance.check(backend, context(traced=traced), broken)
    else:
        reliance.check(backend, context(traced=traced), broken)
    assert is_known_to_replace(backend) == (traced or broken)


def test_the_backend_by_the_name_eager_is_certain():
    reliance = Reliance(True, "eager")
    reliance.check("eager", context(traced=True), False)
    assert reliance.is_certain and reliance.ask() and not is_known_to_replace("eager")
