"""Gradients of modules that write to what they read, for backends that make a graph of their own for the backward pass."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend


def counted(self, x):
    self.number += 1
    return self.weight * x * self.number


def counted_in_integers(self, x):
    self.count += 1
    return self.weight * x * self.count


def read_through_a_function(self, x):
    self.number += 1
    return self.weight * x * self.number.exp()


def read_before(self, x):
    old = self.number.clone()
    self.number += 1
    return self.weight * x * old


def read_before_and_after(self, x):
    old = self.rows.exp()
    self.rows.mul_(2).add_(x.mean())
    return self.weight * x * old.sum() * self.rows.sum().sigmoid()


def averaged(self, x):
    with torch.no_grad():
        self.number.mul_(0.5).add_(x.mean(), alpha=0.5)
    return self.weight * x / (self.number + 1)


def written_through_data(self, x):
    self.number.data.add_(1)
    return self.weight * x * self.number


def copied(self, x):
    self.number.copy_(self.number + x.mean())
    return self.weight * x * self.number


def one_row(self, x):
    self.rows[1] = x.mean()
    return self.weight * x * self.rows.sum() * self.rows[1]


def through_a_view(self, x):
    view = self.rows[:3]
    view += 1
    return self.weight * view * x


def written_twice(self, x):
    self.number += 1
    y = self.weight * self.number
    z = y.detach().sum()
    self.number += z
    return self.weight * x * self.number


def in_a_checkpoint(self, x):
    self.number += 1
    return torch.utils.checkpoint.checkpoint(
        lambda one: self.weight * one * self.number.exp(), x, use_reentrant=False
    )


def written_behind_through_data(self, x):
    y = self.weight * x * self.rows[:3]
    self.rows.data.add_(1)
    return y


def written_behind_a_checkpoint(self, x):
    y = torch.utils.checkpoint.checkpoint(lambda one: self.weight * one * self.number, x, use_reentrant=False)
    self.number.data.add_(1)
    return y


class Unsaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, number):
        ctx.number = number
        return weight * number

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.number, None


def written_behind_a_function(self, x):
    y = Unsaved.apply(self.weight * x, self.number)
    self.number.add_(1)
    return y


def nearest_row(self, x):
    near = (x[:, None] - self.rows[None]).abs().argmin(1)
    y = self.weight * x + (self.rows[near] - x).detach() ** 2
    self.rows.data.mul_(0.9).add_(x.mean(), alpha=0.1)
    return y


PROGRAMS = (
    written_behind_through_data, written_behind_a_checkpoint, written_behind_a_function, nearest_row,
    counted, counted_in_integers, read_through_a_function, read_before, read_before_and_after, averaged, written_through_data,
    copied, one_row, through_a_view, written_twice, in_a_checkpoint,
)  # fmt: skip
KINDS = ("buffer", "attribute", "frozen parameter")


def module_of(program, kind):
    class Written(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
            for name, value in (
                ("number", torch.zeros(())),
                ("rows", torch.arange(6.0) / 8),
                ("count", torch.zeros((), dtype=torch.long)),
            ):
                if kind == "buffer":
                    self.register_buffer(name, value)
                elif kind == "attribute" or not value.is_floating_point():
                    setattr(self, name, value)
                else:
                    setattr(self, name, nn.Parameter(value, requires_grad=False))

        forward = program

    return Written()


def compare(program, kind, backend, exact):
    eager = module_of(program, kind)
    module = module_of(program, kind)
    compiled = frontend.compile(module, backend=backend)
    for call in range(4):
        x = torch.tensor([1.0, 0.25, -3.0]) + call
        for one in (eager, compiled):
            one(x).sum().backward()
        tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {}
        torch.testing.assert_close(module.weight.grad, eager.weight.grad, **tolerance)
        for name in ("number", "rows", "count"):
            torch.testing.assert_close(getattr(module, name), getattr(eager, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_gradients_are_those_of_what_was_read(program, kind):
    compare(program, kind, "aot_eager", exact=True)


@pytest.mark.inductor
@pytest.mark.parametrize("program", [counted, read_before], ids=lambda one: one.__name__)
def test_inductor_keeps_what_was_read(program):
    compare(program, "buffer", "inductor", exact=False)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_a_clone_of_a_queue_that_is_filled_behind_a_break(backend):
    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(4, 3)
            self.register_buffer("queue", torch.arange(24.0).reshape(3, 8) / 8)
            self.register_buffer("place", torch.zeros(1, dtype=torch.long))

        def forward(self, x):
            query = torch.nn.functional.normalize(self.encoder(x), dim=1)
            result = query @ self.queue.clone().detach()
            place = int(self.place)
            with torch.no_grad():
                self.queue[:, place : place + 2] = query.T
                self.place[0] = (place + 2) % 8
            return result

    check(Contrast(), torch.ones(2, 4, requires_grad=True), backend=backend, tolerance=1e-5)


def test_layers_that_write_are_repeated():
    def stack():
        return nn.Sequential(*[module_of(counted, "buffer") for _ in range(6)])

    check(stack(), torch.ones(3), backend="aot_eager")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_an_argument_that_is_written_to(backend):
    def f(x, weight):
        x.add_(1)
        return weight * x

    check(f, torch.ones(3), torch.ones(3, requires_grad=True), backend=backend)


def test_a_weight_that_is_written_to_before_it_is_read():
    class Shrinking(nn.Linear):
        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(0.5)
            return super().forward(x)

    check(Shrinking(3, 2), torch.ones(4, 3, requires_grad=True), backend="aot_eager")


def test_normalizations_and_whole_steps_go_to_the_backend_as_they_are(monkeypatch):
    from framesmith.graph import finish
    from framesmith.graph.backends import captured_only

    def refuse(*args):
        raise AssertionError("a copy")

    monkeypatch.setattr(finish, "keep_reads", refuse)
    monkeypatch.setattr(captured_only, "can_be_kept", refuse)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    frontend.compile(model, backend="aot_eager")(torch.randn(5, 3)).sum().backward()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    compiled = frontend.compile(step, backend="aot_eager")
    for _ in range(3):
        compiled(torch.randn(5, 3))
