"""Inputs that get a history by being written to: which gradients their backward pass gives, and what eager refuses."""

import pytest
import torch

from framesmith import frontend


def data_scaled(h, p, x):
    h.mul_(2)
    p.data.mul_(2)


def detached_scaled(h, p, x):
    h.mul_(2)
    p.detach().mul_(2)
    return h


def lists_scaled(h, p, x):
    h.mul_(2)
    torch._foreach_mul_([p.data, x], 2)


def data_stored(h, p, x):
    h.mul_(2)
    x.data = p.clone()


def caught_inside(h, p, x):
    h.mul_(2)
    try:
        (p * x)[5]
    except IndexError:
        pass


def raises(h, p, x):
    h.mul_(2)
    y = p * x
    y[5]


def raises_of_sizes(h, p, x):
    h.mul_(2)
    y = p * x
    y @ torch.ones(5)


def other_result(h, p, x):
    h.add_(x)
    return p * x


def both(h, p, x):
    h.add_(p)
    x.add_(1)
    return x


def factor(h, p, x):
    x.mul_(p)
    return x


def factor_behind_a_sum(h, p, x):
    x.add_(1)
    x.mul_(p)
    return x


def interpolated(h, p, x):
    x.lerp_(p, p)
    return x


def angle(h, p, x):
    x.atan2_(p)
    return x


def products_added(h, p, x):
    x.addcmul_(p, p)
    x.mul_(p)
    return x


PROGRAMS = [
    data_scaled, detached_scaled, lists_scaled, data_stored, caught_inside, raises, raises_of_sizes, other_result, both, factor,
    factor_behind_a_sum, interpolated, angle, products_added,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("end", ["h", "x"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_eager(program, end, backend):
    def run(call):
        start, p = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
        found = []
        for _ in range(3):
            h, x = start * 1, torch.full((2,), 5.0)
            try:
                call(h, p, x)
            except (IndexError, RuntimeError) as error:
                found.append(type(error))
            last = {"h": h, "x": x}[end]
            if last.requires_grad:
                last.sum().backward()
            found += [h.detach(), x.detach(), p.grad, start.grad]
            p.grad = start.grad = None
        return found

    for one, other in zip(run(frontend.compile(program, backend=backend)), run(program), strict=True):
        assert type(one) is type(other)
        assert one is other or torch.equal(one, other)


def written_view(x, p):
    with torch.no_grad():
        y = x.view(4)
    y.add_(p.view(4))
    return y


def written_view_behind_a_break(x, p):
    with torch.no_grad():
        y = x.view(4)
    print(end="")
    y.add_(p.view(4))
    return y


def written_item(x, p):
    with torch.no_grad():
        y = x.t()
    y[0] = p[0]
    return y


def view_with_a_history(x, p):
    with torch.no_grad():
        print(end="")
        with torch.enable_grad():
            y = x.view(4)
        z = y * 2
    y.add_(p.view(4))
    return y, z


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [written_view, written_view_behind_a_break, written_item, view_with_a_history]
)
def test_a_view_is_of_the_mode_in_which_it_was_made(program, backend):
    def run(call):
        x, p = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
        try:
            results = call(x, p)
        except RuntimeError as error:
            return str(error), x
        return str([results]), x

    compiled = frontend.compile(program, backend=backend)
    for _ in range(3):
        (text, x), (expected, y) = run(compiled), run(program)
        assert torch.equal(x, y) and x.requires_grad == y.requires_grad
        assert text.split("grad_fn")[0] == expected.split("grad_fn")[0]
