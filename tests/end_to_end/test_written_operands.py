"""Writes in place to inputs with a history, where the gradient needs what was there, or a backward pass would be refused: the graph runs as
it was captured."""

import logging
import random

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "sin": "x.sin_(); return w * 2",
    "a factor": "x.mul_(w)",
    "a quotient": "x.div_(w + 3); return w * 2",
    "a power": "x.pow_(2); x.mul_(w); return w.sin()",
    "a view": "x.view(-1).sin_(); return w * 2",
    "of itself": "x.copy_(x * x)",
    "twice": "x.mul_(w); x.mul_(x); x.copy_(torch.ones(3) / 2); return x",
    "what is saved": "y = w * x; x.add_(1); return y, w * 2",
    "a new one": "y = w * 1; y.copy_(y * y); return y",
    "nothing needed": "x.add_(w); x.relu_(); return x * 2",
}


def make(text):
    scope = {"torch": torch}
    exec("def program(x, w):\n    " + "\n    ".join(text.split("; ")), scope)
    return scope["program"]


def gradients(program):
    """For each of three calls what each result, and what was written to, gives to the leaves, or that it is refused."""
    found = []
    for number in range(3):
        w = (torch.arange(1.0, 4.0) + number).requires_grad_()
        leaf = torch.full((3,), 0.3, requires_grad=True)
        x = leaf * 2
        results = program(x, w)
        results = results if isinstance(results, tuple) else (results,)
        for one in (*results, x):
            if one is None:
                continue
            try:
                given = torch.autograd.grad(one.sum(), [w, leaf], retain_graph=True, allow_unused=True)
            except RuntimeError as error:
                assert "modified by an inplace operation" in str(error)
                given = [None, None]
            # a leaf that is not reached gets zeros (docs/differences.md)
            found.append([torch.zeros(3) if each is None else each for each in given])
        found.append(x.detach().clone())
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_eager(name):
    program = make(PROGRAMS[name])
    torch.testing.assert_close(gradients(frontend.compile(program, backend="aot_eager")), gradients(program))


STATEMENTS = (
    "x.sin_()", "x.mul_(w)", "x.add_(w)", "x.copy_(x * x)", "x.exp_()", "x.relu_()", "x.mul_(x)", "x[0] = w[1]", "x.div_(w + 3)",
    "x.pow_(2)", "x.sigmoid_()", "x.copy_(w)", "y = y * x", "y = y + w * x", "y = y.sin()", "y = w * 2", "y.mul_(x)",
    "z = x * 1; z.mul_(2); y = y + z",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_of_random_programs(seed):
    chosen = random.Random(seed)
    body = [chosen.choice(STATEMENTS) for _ in range(chosen.randint(1, 4))]
    end = chosen.choice(("return y", "return y, x", "pass", "return y, w * 2", "return y * x"))
    program = make("; ".join(["y = w * 1", *body, end]))
    torch.testing.assert_close(gradients(frontend.compile(program, backend="aot_eager")), gradients(program))


@pytest.mark.parametrize(("write", "is_compiled"), [("add_(1)", True), ("relu_()", True), ("sin_()", False)])
def test_what_needs_nothing_is_compiled(write, is_compiled, caplog):
    x, w = torch.ones(3, requires_grad=True) * 2, torch.ones(3, requires_grad=True)
    with caplog.at_level(logging.INFO, logger="framesmith.graph"):
        frontend.compile(make(f"x.{write}; return x * w"), backend="aot_eager")(x, w)
    said = "runs as it was captured, since the gradient of a write to an input needs what was there"
    assert (said in caplog.text) is not is_compiled
