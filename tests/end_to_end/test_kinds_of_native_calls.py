"""The kind of a break says what the program does, and its text names what the program calls."""

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
