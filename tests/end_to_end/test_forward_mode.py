"""Forward-mode differentiation (`torch.autograd.forward_ad`): levels that one graph enters and leaves, and those that it cannot."""

import pytest
import torch
import torch.autograd.forward_ad as fa
from tests.end_to_end.support import check_source

from framesmith import frontend

SETUP = """
import torch
from torch import nn
import torch.nn.functional as F
import torch.autograd.forward_ad as fa
w = torch.linspace(-1, 1, 4).requires_grad_()
seen = []
def args(): return torch.linspace(-1, 2, 12).reshape(3, 4), torch.linspace(1, 3, 12).reshape(3, 4)
plain_args = args
def leaf_args(): return tuple(one.requires_grad_() for one in plain_args())
"""
ONE_GRAPH = {
    "tangent": """
    with fa.dual_level():
        return fa.unpack_dual(fa.make_dual(x, t).sin()).tangent""",
    "primal and tangent": """
    with fa.dual_level():
        dual = fa.make_dual(x, t)
        primal, tangent = fa.unpack_dual(dual.exp() * dual)
    return primal + tangent""",
    "a tangent that is none": """
    with fa.dual_level():
        return x * 2, fa.unpack_dual(x).tangent is None, fa.unpack_dual(fa.make_dual(x, t).detach()).tangent is None""",
    "functions in place of the block": """
    level = fa.enter_dual_level()
    y = fa.unpack_dual(fa.make_dual(x, t, level=level) ** 2, level=level).tangent
    fa.exit_dual_level(level=level)
    return y, level""",
    "two blocks": """
    found = []
    for scale in (1.0, 2.0):
        with fa.dual_level():
            found.append(fa.unpack_dual(F.gelu(fa.make_dual(x, t * scale))).tangent)
    return found""",
    "a decorator": """
    return directional(x, t)""",
    "in place": """
    with fa.dual_level():
        dual = fa.make_dual(x * 1, t * 1)
        dual.mul_(3)
        dual[0] = 0
        return fa.unpack_dual(dual)""",
    "what the level leaves": """
    with fa.dual_level():
        dual = fa.make_dual(x, t) * 2
    with fa.dual_level():
        return dual, fa.unpack_dual(dual).tangent is None""",
    "without gradients": """
    with torch.no_grad(), fa.dual_level():
        return fa.unpack_dual(fa.make_dual(x, t).tanh() * w)""",
    "a gradient of a tangent": """
    with fa.dual_level():
        tangent = fa.unpack_dual(fa.make_dual(x, t).pow(3)).tangent
    return (tangent * w).sum()""",
    "an exception that leaves the block": """
    try:
        with fa.dual_level():
            y = fa.unpack_dual(fa.make_dual(x, t).cos()).tangent
            raise ValueError
    except ValueError:
        return y + fa._current_level""",
}
WITH_BREAKS = {
    "a break in the block": """
    y = x + 1
    with fa.dual_level():
        dual = fa.make_dual(y, t).sin()
        print(len(seen))
        tangent = fa.unpack_dual(dual * 2).tangent
    return tangent + 1""",
    "a block that stays open": """
    seen.append(fa.enter_dual_level())
    y = fa.unpack_dual(fa.make_dual(x, t).sin()).tangent
    print(seen)
    fa.exit_dual_level()
    return y * 2""",
    "a level in a level": """
    with fa.dual_level():
        with fa.dual_level():
            return x + 1""",
    "no level": """
    return fa.make_dual(x, t)""",
    "a level that is not the last": """
    with fa.dual_level():
        fa.exit_dual_level(level=3)""",
    "a function with a rule": """
    with fa.dual_level():
        return fa.unpack_dual(Triple.apply(fa.make_dual(x, t))).tangent""",
    "integers": """
    with fa.dual_level():
        return fa.make_dual(x.int(), t)""",
    "another shape": """
    with fa.dual_level():
        return fa.make_dual(x, t[0])""",
    "an index out of range": """
    with fa.dual_level():
        return fa.unpack_dual(fa.make_dual(x, t)[torch.tensor(len(seen) + 5)]).tangent""",
}
RULE = """
@fa.dual_level()
def directional(a, b): return fa.unpack_dual((fa.make_dual(a, b).sin() * w).sum(-1)).tangent
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(x): return x * 3
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 3
    @staticmethod
    def jvp(ctx, t): return t * 30
"""


def program(body: str, inputs: str = "plain_args") -> str:
    return f"{SETUP}{RULE}\ndef f(x, t):{body}\nargs = {inputs}\n"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("inputs", ["plain_args", "leaf_args"])
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_a_level_is_part_of_the_graph(name, inputs, backend):
    report = check_source(program(ONE_GRAPH[name], inputs), backend=backend, calls=3)
    assert report.breaks == []


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", WITH_BREAKS)
def test_a_level_that_no_graph_holds_is_that_of_eager(name, backend):
    check_source(program(WITH_BREAKS[name]), backend=backend, calls=3)


def raises_inside(x, place):
    try:
        with fa.dual_level():
            dual = fa.make_dual(x, torch.ones_like(x))
            tangent = fa.unpack_dual(dual[place].exp()).tangent
    except IndexError:
        tangent = x
    return tangent, fa._current_level


def raises_inside_unused(x, place):
    try:
        with fa.dual_level():
            fa.make_dual(x, torch.ones_like(x))[place]
    except IndexError:
        return x + 1, fa._current_level
    return x, fa._current_level


def raises_behind(x, place):
    with fa.dual_level():
        primal, tangent = fa.unpack_dual(fa.make_dual(x, torch.ones_like(x)).exp())
    try:
        return primal[place], tangent, fa._current_level
    except IndexError:
        return primal, tangent + 1, fa._current_level


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [raises_inside, raises_inside_unused, raises_behind])
def test_an_operation_that_raises_reaches_the_handler_around_a_level(program, backend):
    compiled = frontend.compile(program, backend=backend)
    for place in (1, 9, 0, 9):
        given = torch.arange(4.0) / 4, torch.tensor([place])
        for expected, found in zip(program(*given), compiled(*given), strict=True):
            assert found == expected if isinstance(expected, int) else torch.equal(found, expected)
