"""`torch.inference_mode` inside a compiled function: what is an inference tensor, what the block puts back, breaks in it."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

X = torch.tensor([1.0, 2.0, 3.0])
W = torch.ones(3, requires_grad=True)


def same(body, extra="", args="torch.tensor([1.0, 2.0, 3.0]), torch.ones(3, requires_grad=True)", **settings):
    """Compare a body that uses `x` and `w`."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    source = f"import contextlib, torch\n{extra}\ndef args(): return ({args},)\ndef f(x, w):\n{lines}\n"
    return check_source(source, **settings)


@pytest.mark.parametrize(
    "body",
    [
        "with torch.inference_mode():\n    y = x * 2\nreturn y, y.is_inference(), torch.is_inference_mode_enabled()",
        "with torch.inference_mode(False):\n    y = w * 2\nreturn y, y.is_inference()",
        "with torch.inference_mode():\n    y = x[0:2]\n    z = y.clone()\nreturn y, z, y.is_inference(), z.is_inference()",
        "with torch.inference_mode():\n    v = w.view(3, 1)\nreturn v.requires_grad, v.is_inference(), x * w",
        "with torch.inference_mode():\n    x.add_(1)\n    x[0:2].mul_(2)\nreturn x * w",
        "with torch.inference_mode():\n    y = x * 2\nz = y + 1\nreturn z, z.is_inference(), y[0:1].is_inference()",
        (
            "with torch.inference_mode():\n    with torch.enable_grad():\n        a = torch.is_grad_enabled()\n        y = w * 2\n"
            "    torch.set_grad_enabled(True)\n    z = w + 1\nreturn y, z, a, y.requires_grad, torch.is_grad_enabled()"
        ),
        (
            "with torch.no_grad():\n    with torch.inference_mode(False):\n        y = w * 2\n    z = w * 3\n"
            "return y, z, y.requires_grad, z.requires_grad"
        ),
        (
            "with torch.inference_mode():\n    y = w * 2\n    with torch.inference_mode(False):\n        z = w * 3\n        a = y[0:1]\n"
            "return y, z, a, z.is_inference(), a.is_inference()"
        ),
        (
            "try:\n    with torch.inference_mode():\n        y = x * 2\n        raise ValueError('a')\n"
            "except ValueError:\n    return y, torch.is_inference_mode_enabled(), torch.is_grad_enabled()"
        ),
        "loss = (x * w).sum()\nloss.backward()\nwith torch.inference_mode():\n    mean = (x * w).mean()\nreturn mean, w.grad",
        (
            "c = torch.inference_mode()\nc.__enter__()\ny = x * 2\nc.__exit__(None, None, None)\n"
            "return y, torch.is_inference_mode_enabled()"
        ),
    ],
)
def test_a_block_is_in_the_graph(body):
    same(body, breaks=0)


@pytest.mark.parametrize("decorator", ["@torch.inference_mode()", "@torch.inference_mode"])
def test_a_decorated_function_is_in_the_graph(decorator):
    same(
        "y = g(x)\nreturn y, y.is_inference(), x * w",
        f"{decorator}\ndef g(x): return x.sin() + 1",
        breaks=0,
        graphs=1,
    )


def test_a_decorated_generator_is_in_the_graph():
    extra = "@torch.inference_mode()\ndef g(x):\n    yield x * 2\n    yield x + 1"
    same("return [(y, y.is_inference(), torch.is_grad_enabled()) for y in g(x)]", extra, breaks=0)


def test_results_are_stored_as_inference_tensors():
    same(
        "with torch.inference_mode():\n    L.append(x * 2)\nreturn [y.is_inference() for y in L]",
        "L = []",
        breaks=0,
    )


def test_an_existing_manager():
    same("with C:\n    y = x * 2\nreturn y, y.is_inference()", "C = torch.inference_mode()", breaks=0)


def test_an_input_first_read_in_the_block_is_no_inference_tensor():
    body = "with torch.inference_mode():\n    y = x * w\nreturn y, w * 3, w.is_inference(), x.is_inference()"
    for args in ("torch.ones(3), torch.ones(6)[::2]", "torch.ones(3), torch.tensor(2.0, requires_grad=True)"):
        same(body, args=args, breaks=0)


def test_inference_tensors_as_inputs():
    extra = "def made():\n    with torch.inference_mode(): return torch.ones(3)"
    body = "y = x * 2\nwith torch.inference_mode():\n    x.add_(1)\nreturn y, x[0:1].is_inference(), y.is_inference()"
    same(body, extra, args="made(), torch.ones(3)", breaks=0)


def test_eval_dropout_of_an_inference_tensor_is_the_tensor():
    same(
        "with torch.inference_mode():\n    y = torch.nn.functional.dropout(x, 0.5, False)\n    y.add_(1)\nreturn y is x",
        breaks=0,
    )


@pytest.mark.parametrize(
    "use",
    ["y.add_(1)", "y * w", "y.requires_grad_()"],
)
def test_what_torch_refuses_outside_raises_as_in_eager(use):
    body = f"with torch.inference_mode():\n    y = x * 2\ntry:\n    {use}\nexcept RuntimeError as error:\n    return str(error)"
    same(body)


def test_a_break_inside_nested_blocks_keeps_what_they_put_back():
    body = (
        "with torch.no_grad():\n    with torch.inference_mode():\n        with torch.inference_mode(False):\n            y = w * 2\n"
        "            print('a')\n            a = torch.is_grad_enabled(), torch.is_inference_mode_enabled()\n"
        "        b = torch.is_grad_enabled(), torch.is_inference_mode_enabled()\n        print('b')\n        z = y + 1\n"
        "    c = torch.is_grad_enabled(), torch.is_inference_mode_enabled()\nreturn y, z, a, b, c, torch.is_grad_enabled()"
    )
    same(body)
    same(
        "with torch.inference_mode():\n    torch.set_grad_enabled(True)\n    print('a')\n    return torch.is_grad_enabled()"
    )


@pytest.mark.parametrize(
    "body",
    [
        "torch.inference_mode().__enter__()\nreturn torch.is_inference_mode_enabled(), x * 2",
        "c = torch.inference_mode()\nc.__enter__()\ny = x * 2\ndel c\nreturn y, (x * 2).is_inference()",
        "c = torch.inference_mode()\nc.__enter__()\nreturn x * 2",
    ],
)
def test_a_dropped_manager_ends_its_block(body):
    same(body)


def test_an_operation_that_fails_on_data_in_a_block():
    body = (
        "try:\n    with torch.inference_mode():\n        y = x * 2\n        L.append(1)\n        z = x[w]\n        L.append(2)\n"
        "except IndexError:\n    return y, torch.is_inference_mode_enabled(), torch.is_grad_enabled()\nreturn y, z"
    )
    same(body, "L = []", args="torch.ones(3), torch.tensor([0, 7])")


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
def test_backends_that_replace_the_operations(backend):
    def f(x, w):
        with torch.inference_mode():
            x.add_(1)
        y = x * w
        with torch.inference_mode():
            z = y * 2
            v = z[0:2]
        return y.sum(), z, v, z.is_inference(), v + 1

    check(f, X, W, backend=backend, breaks=0)


def test_such_a_backend_gets_no_write_to_an_inference_tensor():
    extra = "def made():\n    with torch.inference_mode(): return torch.ones(3)"
    same(
        "with torch.inference_mode():\n    x.add_(1)\nreturn x * 2",
        extra,
        args="made(), torch.ones(3)",
        backend="aot_eager",
    )


def test_such_a_backend_gets_no_view_that_requires_a_gradient():
    body = "with torch.inference_mode():\n    v = w[0:2]\nreturn v.requires_grad, v * 2"
    same(body, backend="aot_eager")


LEAF = "def made():\n    with torch.inference_mode(): return torch.ones(3, requires_grad=True)"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "body",
    [
        "return w * x",
        "return w[1:] * 2, w.view(3, 1)",
        "return w, w.is_inference(), (w + x).is_inference()",
        "y = w * x\ny.sum().backward()\nreturn y.detach(), w.grad",
        "y = w * w\ny.sum().backward()\nreturn w.grad",
        "with torch.no_grad():\n    w.add_(1)\nreturn w * x",
        "with torch.inference_mode():\n    w.add_(1)\nreturn w * x",
        "with torch.inference_mode():\n    m = torch.nn.Linear(3, 2)\nreturn m.requires_grad_(False)(x).shape, m.weight",
        "with torch.inference_mode():\n    p = torch.nn.Parameter(x * 2)\nreturn x * p, p[0]",
    ],
)
def test_leaves_that_were_made_in_inference_mode(body, backend):
    same(body, LEAF, args="torch.ones(3), made()", backend=backend)


def test_hooks_of_a_leaf_that_was_made_in_inference_mode():
    extra = (
        LEAF
        + "\n    # its hook is asked for\ndef hooked():\n    w = made()\n    w.register_hook(lambda g: g * 3)\n    return w"
    )
    same("(w * x).sum().backward()\nreturn w.grad", extra, args="torch.ones(3), hooked()")
