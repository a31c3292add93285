"""`torch.vmap` and `torch.func` in a compiled function: in one graph, nested, or natively where a body does more than compute."""

import pytest
import torch
from tests.end_to_end.support import check_source
from torch.func import grad, vmap

from framesmith import frontend

SETUP = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import *
from torch import vmap
torch.manual_seed(0)
w = torch.linspace(-1, 1, 3)
leaf = torch.linspace(-2, 1, 3).requires_grad_()
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
def args(): return (torch.linspace(-1, 1, 12).reshape(4, 3),)
cube = lambda y: (y**3).sum()
seen = []
"""
ONE_GRAPH = {
    "grad": "grad(cube)(x)",
    "grad and value": "grad_and_value(cube)(x)",
    "aux": "grad(lambda y: (cube(y), {'n': y.sum(), 'm': [y, y]}), has_aux=True)(x)",
    "argnums": "grad(lambda a, b, c: ((a @ b - c) ** 2).mean(), argnums=(-1, 0))(x, w, x[:, 0])",
    "nested structures": "grad(lambda d, s: (d['a'] * d['b'][0] * s).sum())({'a': x, 'b': [x + 1, x]}, 2.0)",
    "keywords": "vmap(lambda a, *, s: a * s)(x, s=x)",
    "vmap": "vmap(lambda a: a.sin().sum())(x)",
    "vmap of vmap": "vmap(lambda a: vmap(lambda b: (a * b).sum())(x))(x)",
    "dimensions": "vmap(lambda a, b: (a * b, a.sum()), in_dims=(1, 0), out_dims=(1, 0))(x, x.t())",
    "dimensions in a dict": "vmap(lambda d: d['a'] @ d['b'], in_dims=({'a': 0, 'b': None},))({'a': x, 'b': w})",
    "not mapped": "vmap(lambda a: (a * 2, w * 1), out_dims=(0, None))(x)",
    "chunks": "vmap(lambda a: a.sin().sum(), chunk_size=3)(x)",
    "random numbers": "vmap(lambda a: a + torch.rand(3), randomness='different')(x)",
    "the same random numbers": "vmap(lambda a: F.dropout(a, 0.5), randomness='same')(x)",
    "grad of grad": "grad(lambda y: grad(cube)(y).sum())(x)",
    "vmap of grad": "vmap(grad(cube))(x)",
    "grad of vmap": "grad(lambda y: vmap(lambda z: (z * y).sum())(x).pow(2).sum())(x[0])",
    "a leaf from elsewhere": "grad(lambda y: (leaf * y**2).sum())(x)",
    "jacrev": "jacrev(lambda y: (y.sin(), {'b': y.sum()}))(x[0])",
    "jacrev in chunks": "jacrev(lambda y: y.sin(), chunk_size=2)(x[0])",
    "jacrev with aux": "jacrev(lambda y: (y.sin(), y.sum()), has_aux=True)(x)",
    "jacfwd": "jacfwd(lambda y: y.sin() * y.sum())(x[0])",
    "hessian": "hessian(cube)(x[0])",
    "jacrev of jacfwd": "jacrev(jacfwd(cube))(x[0])",
    "jvp": "jvp(lambda a, b: (a * b, [a.sum()]), (x, x + 1), (x, x))",
    "product with a hessian": "jvp(grad(cube), (x,), (x,))[1], vjp(grad(cube), x)[1](x)",
    "vmap of jvp": "vmap(lambda t: jvp(torch.sin, (x[0],), (t,))[1])(torch.eye(3))",
    "no_grad inside": "grad(lambda a: (a * no_grad(a)).sum())(x)",
    "per sample": (
        "vmap(grad(lambda p, r: functional_call(net, p, (r,)).pow(2).sum()), (None, 0))"
        "({k: v.detach() for k, v in net.named_parameters()}, x)"
    ),
    "a module": "vmap(net)(x)",
    "the same tensor twice": "grad(lambda a, b: (a * b).sum())(x, x)",
    "changes of its own": "grad(lambda a: (a + torch.zeros(3).add_(1)).sum())(x[0])",
}
HELPERS = """
def no_grad(a):
    with torch.no_grad():
        return a * 2
"""


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_transforms_are_in_one_graph(name, backend):
    check_source(
        f"{SETUP}{HELPERS}def f(x): return {ONE_GRAPH[name]}\n",
        breaks=0,
        backend=backend,
        tolerance=1e-6,
        calls=2,
    )


def test_transforms_made_outside_and_as_decorators():
    source = "double = vmap(grad(cube))\n@vmap\ndef sine(a): return a.sin()\n@grad\ndef slope(a): return sine(a).sum()\n"
    check_source(f"{SETUP}{source}def f(x): return double(x), slope(x)\n", breaks=0)


def test_the_function_of_vjp_is_called_twice():
    lines = "def f(x):\n    out, back, aux = vjp(lambda a: (a.sin(), a.sum()), x, has_aux=True)\n    return out, back(x), back(out), aux\n"
    check_source(SETUP + lines, breaks=0)


def test_gradients_through_a_transform():
    lines = "def f(x):\n    vmap(lambda a: (a * leaf).sin().sum())(x).sum().backward()\n    return leaf.grad * 1\n"
    check_source(SETUP + lines, breaks=0, backward=False)


def test_a_step_of_learning_in_the_loss():
    lines = (
        "def inner(p, r):\n"
        "    loss = lambda p: (functional_call(net, p, (r,)) ** 2).mean()\n"
        "    g = grad(loss)(p)\n"
        "    return loss({k: p[k] - 0.1 * g[k] for k in p})\n"
        "def f(x):\n"
        "    vmap(inner, (None, 0))(dict(net.named_parameters()), x).mean().backward()\n"
    )
    check_source(SETUP + lines, breaks=0, backward=False, tolerance=1e-7)


RULES = """
K = {"k": 0.0}
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 2
    @staticmethod
    def vmap(info, in_dims, x): return x * K["k"], 0
    @staticmethod
    def jvp(ctx, x): return x * K["k"]
def f(x, k):
    K["k"] = float(len(k))
    return {}, Double.apply(x)
def args(): return (torch.linspace(-1, 1, 12).reshape(4, 3), [])
"""


GENERATED = RULES.replace(
    '    @staticmethod\n    def vmap(info, in_dims, x): return x * K["k"], 0\n',
    "    generate_vmap_rule = True\n",
)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("program", "call"),
    [
        (RULES, "grad(lambda y: Double.apply(y).sin().sum())(x)"),
        (RULES, "vjp(Double.apply, x)[1](x)"),
        (RULES, "grad(lambda y: grad(lambda z: Double.apply(z).pow(3).sum())(y).sum())(x)"),
        (GENERATED, "vmap(Double.apply)(x)"),
        (GENERATED, "vmap(grad(lambda y: Double.apply(y).sin().sum()))(x)"),
        (GENERATED, "jacrev(lambda y: Double.apply(y))(x[0])"),
    ],
)
def test_rules_that_no_transform_calls(program, call, backend):
    source = SETUP + program.replace('    K["k"] = float(len(k))\n', "").replace("{}, D", f"{call}, D")
    check_source(source, breaks=0, backend=backend, tolerance=1e-6)


def test_rules_in_a_level_of_forward_mode_differentiation():
    block = "    with fa.dual_level():\n        y = fa.unpack_dual(Double.apply(fa.make_dual(x, x)))\n"
    source = RULES.replace("    return {}, Double.apply(x)", f"{block}    return y")
    imports = "import torch.autograd.forward_ad as fa\n"
    check_source(SETUP + imports + source, calls=4, change=lambda x, k: k.append(1), backward=False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("call", ["vmap(Double.apply)(x)", "jvp(Double.apply, (x,), (x,))"])
def test_rules_of_a_function_read_what_is_there_now(call, backend):
    check_source(
        SETUP + RULES.replace("{}, D", f"{call}, D"),
        backend=backend,
        calls=4,
        change=lambda x, k: k.append(1),
        backward=False,
    )


@pytest.mark.parametrize(
    "lines",
    [
        "    def g(a):\n        print('in')\n        return (a * 2).sum()\n    return grad(g)(x)\n",
        "    def g(a):\n        w.add_(1)\n        return (a * w).sum()\n    return grad(g)(x), w * 1\n",
        "    def g(a):\n        a.add_(1)\n        return a * 2\n    return vmap(g)(x), x\n",
        "    out, back = vjp(torch.sin, x)\n    print('between')\n    return back(x)\n",
        "    return grad(lambda a: (a * 2).sum() if (a * 2).requires_grad else a.sum())(x)\n",
    ],
)
def test_a_body_that_does_more_than_compute_runs_natively(lines):
    report = check_source(f"{SETUP}def f(x):\n{lines}", backward=False)
    assert report.breaks


@pytest.mark.parametrize(
    "expression",
    [
        "grad(lambda a: a * 2)(x)",
        "grad(lambda a: 3)(x)",
        "grad(lambda a: (a.sum(), 3), has_aux=True)(x)",
        "grad(cube, argnums=2)(x)",
        "vmap(lambda a, b: a * b)(x, x.t())",
        "vmap(lambda a: a + torch.rand(3))(x)",
        "vmap(lambda a: a * a.sum().item())(x)",
        "vmap(lambda a: 3)(x)",
        "vmap(lambda a: a, out_dims=(0, 0))(x)",
        "vjp(torch.sin, x)[1]((x, x))",
        "jvp(torch.sin, x, x)",
        "jvp(torch.sin, (x,), (x, x))",
        "grad(lambda a: a.backward())(x[0, 0])",
        "[][vmap(lambda a: a)(x).shape[0]]",
    ],
)
def test_errors_are_those_of_eager(expression):
    check_source(
        f"{SETUP}def f(x):\n    try: return {expression}\n    except Exception as error: return type(error), str(error)\n",
        backward=False,
    )


QUESTIONS = [
    "is_batchedtensor(y)", "is_gradtrackingtensor(y)", "is_functorch_wrapped_tensor(y)",
    "maybe_current_level() is not None", "peek_interpreter_stack() is not None",
]  # fmt: skip
TRANSFORMED = [
    "vmap(body)(x)",
    "grad(lambda y: body(y).sum())(x)",
    "vjp(body, x)[0]",
    "jvp(body, (x,), (x,))",
    "body(x)",
]


@pytest.mark.parametrize("question", [*QUESTIONS, "torch._C._are_functorch_transforms_active()"])
@pytest.mark.parametrize("text", TRANSFORMED)
def test_the_body_of_a_transform_is_told_that_one_is_active(question, text):
    source = f"""{SETUP}
from torch._C._functorch import *
def body(y): return y * 2 if {question} else y * 3
def f(x): return {text}
"""
    check_source(source)


def over_no_elements(x):
    none = x[:0]
    doubled = vmap(lambda a: a * 2)(none)
    pair = vmap(lambda a, b: (a @ b, a + 1), in_dims=(1, 0), out_dims=(0, 1))(none.t(), none)
    return (
        doubled,
        pair,
        vmap(grad(lambda a: (a**2).sum()))(none),
        vmap(vmap(torch.sin))(none.reshape(2, 0, 1)),
    )


def test_a_function_mapped_over_no_elements():
    compiled = frontend.compile(over_no_elements, backend="eager", fullgraph=True)
    for _ in range(2):
        assert repr(compiled(torch.ones(2, 3))) == repr(over_no_elements(torch.ones(2, 3)))
