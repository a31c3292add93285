"""Data of inputs that any code replaces between a compiled graph and its backward pass: what eager reads of them is read, or an error says
that both would be needed."""

import contextlib
import threading
from functools import partial

import pytest
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from framesmith import frontend

FORMS = {
    "linear": lambda p, x: F.linear(x, p),
    "a transposed view": lambda p, x: x @ p.t(),
    "mm": lambda p, x: x @ p,
    "mul": lambda p, x: x * p,
    "a view": lambda p, x: x * p.view(2, 2),
    "an index": lambda p, x: x * p[0],
    "expand": lambda p, x: x * p[0].expand(2, 2),
    "exp": lambda p, x: p.exp() * x,
    "layer_norm": lambda p, x: F.layer_norm(x, (2,), p[0], p[1]),
    "conv": lambda p, x: F.conv1d(x.view(1, 2, 2), p.view(2, 2, 1)),
    "bmm": lambda p, x: torch.bmm(x.view(1, 2, 2), p.view(1, 2, 2)),
    "einsum": lambda p, x: torch.einsum("ij,kj->ik", x, p),
    "a layer of two": lambda p, x: F.linear(F.linear(x, p).relu(), p),
}


def store(p):
    p.data = p.data * 3


class Clipping:
    def __init__(self, p):
        self.p = p

    def __call__(self):
        store(self.p)

    def __enter__(self):
        return self

    def __exit__(self, *given):
        store(self.p)

    def __iter__(self):
        return self

    def __next__(self):
        store(self.p)
        raise StopIteration

    @property
    def value(self):
        return self.p

    @value.setter
    def value(self, other):
        vars(self.p)
        self.p.data = other


class Clipped(torch.nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self):
        store(self.p)


def by_thread(p):
    thread = threading.Thread(target=store, args=(p,))
    thread.start()
    thread.join()


def by_block(p):
    with Clipping(p):
        pass


def by_stack(p):
    with contextlib.ExitStack() as stack:
        stack.callback(store, p)


def by_property(p):
    Clipping(p).value = p.data * 3


def by_text(p):
    setattr(p, "da" + "ta", p.data * 3)


def by_vector(p):
    torch.nn.utils.vector_to_parameters(p.data.flatten() * 3, [p])


ROUTES = {
    "a function": store,
    "an object": lambda p: Clipping(p)(),
    "a partial": lambda p: partial(store, p)(),
    "a module": lambda p: Clipped(p)(),
    "apply": lambda p: Clipped(p).apply(lambda module: store(module.p)),
    "an iterator": lambda p: list(Clipping(p)),
    "a thread": by_thread,
    "a block": by_block,
    "a stack": by_stack,
    "a property": by_property,
    "setattr": by_text,
    "a vector": by_vector,
}


def gradients(form, route, backend, *, late=False):
    """Of a call behind whose graph a route stores; `late`: it stores outside of the compiled function."""

    def program(p, x):
        y = FORMS[form](p, x)
        print(end="")
        if not late:
            ROUTES[route](p)
        return y

    compiled = program if backend is None else frontend.compile(program, backend=backend)
    found = []
    for number in range(3):
        p = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]) + number)
        x = (torch.ones(2, 2) + number).requires_grad_()
        y = compiled(p, x)
        if late:
            ROUTES[route](p)
        try:
            y.square().sum().backward()
        except RuntimeError as error:
            assert backend is not None
            assert "run the backward pass first" in str(error)
            return None
        found += [y.detach(), x.grad, p.grad, p.data.clone()]
    return found


@pytest.mark.parametrize("late", [False, True], ids=["inside", "outside"])
@pytest.mark.parametrize("form", FORMS)
def test_what_eager_saved_is_read(form, late):
    expected = gradients(form, "a function", None, late=late)
    given = gradients(form, "a function", "aot_eager", late=late)
    assert given is not None
    torch.testing.assert_close(given, expected)


@pytest.mark.parametrize("route", ROUTES)
def test_whoever_stores(route):
    expected = gradients("linear", route, None)
    torch.testing.assert_close(gradients("linear", route, "aot_eager"), expected)


@pytest.mark.inductor
@pytest.mark.parametrize("form", ["linear", "an index", "exp"])
def test_with_kernels(form):
    expected = gradients(form, "a function", None)
    torch.testing.assert_close(gradients(form, "a function", "inductor"), expected)


AHEAD = {
    "several": lambda p, x: p.sin().cos().exp() * x,
    "div": lambda p, x: x / p,
    "div and a product": lambda p, x: (x / p).sum() * (p * x),
    "lerp": lambda p, x: torch.lerp(p, p.detach() * 2, p),
    "cosine": lambda p, x: torch.cosine_similarity(p, x, 1),
    "normalize": lambda p, x: F.normalize(p) * (p * x),
    "sinc": lambda p, x: torch.sinc(p).sum() * (p * p),
    "max": lambda p, x: p.max() * x,
    "prod": lambda p, x: p.prod() + x,
    "median": lambda p, x: p.median() * x * p,
}
"""The gradients are computed of `p` itself; AOTAutograd may have computed a part of them before `p` got other data."""


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize("form", AHEAD)
def test_what_was_computed_of_the_old_data_is_never_mixed_with_the_new(form, backend, monkeypatch):
    monkeypatch.setitem(FORMS, form, AHEAD[form])
    given = gradients(form, "a function", backend, late=True)
    if given is not None:  # it was an error otherwise
        torch.testing.assert_close(given, gradients(form, "a function", None, late=True))


@pytest.mark.parametrize("form", ["linear", "several", "expand"])
def test_under_hooks_that_save_the_tensor_as_it_is(form, monkeypatch):
    monkeypatch.setitem(FORMS, form, {**FORMS, **AHEAD}[form])
    with torch.autograd.graph.save_on_cpu():
        given = gradients(form, "a function", "aot_eager", late=True)
        expected = gradients(form, "a function", None, late=True)
    if given is not None:
        torch.testing.assert_close(given, expected)


def test_a_checkpoint_computes_again_with_the_new_data():
    found = []
    for backend in (None, "aot_eager"):
        p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
        compiled = linear if backend is None else frontend.compile(linear, backend=backend)
        y = checkpoint(compiled, p, x, use_reentrant=False)
        store(p)
        y.sum().backward()
        found.append([x.grad, p.grad])
    torch.testing.assert_close(found[1], found[0])


def mixed(p, x):
    return x * p + x * p[0]


def test_what_needs_the_old_and_the_new_data_is_an_error():
    p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
    y = frontend.compile(mixed, backend="aot_eager")(p, x)
    store(p)
    with pytest.raises(RuntimeError, match="run the backward pass first"):
        y.sum().backward()


def linear(p, x):
    return F.linear(x, p)


def test_a_change_in_place_is_refused_as_in_eager():
    for function in (linear, frontend.compile(linear, backend="aot_eager")):
        p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
        y = function(p, x)
        with torch.no_grad():
            p.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_an_earlier_loss_goes_backward_after_a_later_call():
    found = []
    for backend in (None, "aot_eager"):
        p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
        compiled = linear if backend is None else frontend.compile(linear, backend=backend)
        losses = []
        for _ in range(4):
            losses.append(compiled(p, x).square().sum())
            store(p)
        for loss in reversed(losses):
            loss.backward()
        found.append([x.grad, p.grad, p.data])
    torch.testing.assert_close(found[1], found[0])


def test_hooks_of_the_program_get_what_is_saved():
    p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
    compiled, seen = frontend.compile(linear, backend="aot_eager"), []
    for number in range(3):
        if number == 1:
            with torch.autograd.graph.saved_tensors_hooks(
                lambda one: seen.append(one) or one, lambda one: one
            ):
                y = compiled(p, x)
        else:
            y = compiled(p, x)
        y.sum().backward()
    assert seen and torch.equal(x.grad, torch.full((2, 2), 6.0))


def test_nothing_is_kept_alive():
    import gc
    import weakref

    p, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2, requires_grad=True)
    compiled = frontend.compile(linear, backend="aot_eager")
    for _ in range(2):
        y = compiled(p, x)
    seen = [weakref.ref(one) for one in (p, x, y)]
    gc.collect()
    gc.disable()
    try:
        del p, x, y
        assert [one() for one in seen] == [None] * 3
    finally:
        gc.enable()
