"""`config.suppress_errors`: a backend that fails is a warning of a public class, and the program runs uncompiled."""

import warnings

import pytest
import torch

from framesmith import frontend

X = torch.ones(3)


def failing(graph, inputs):
    raise NotImplementedError("no such operation")


def program(x):
    return x + 1


def test_a_failing_backend_is_a_warning_that_can_be_filtered() -> None:
    with frontend.config.patch(suppress_errors=True):
        compiled = frontend.compile(program, backend=failing)
        with pytest.warns(frontend.BackendFailedWarning, match="no such operation"):
            assert torch.equal(compiled(X), program(X))
        assert torch.equal(compiled(X), program(X))
        assert [one.kind for one in frontend.explain(compiled)().breaks] == ["backend-limit"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", frontend.BackendFailedWarning)
            assert torch.equal(frontend.compile(program, backend=failing)(X), program(X))


def test_without_it_the_error_goes_on() -> None:
    with pytest.raises(frontend.BackendFailed, match="no such operation"):
        frontend.compile(program, backend=failing)(X)


def test_the_warning_of_a_bug_of_ours_is_public_too() -> None:
    assert issubclass(frontend.TracingBugWarning, RuntimeWarning)
