"""Class methods written in C, bound to a class and kept: `square = Square.apply`, `make = dict.fromkeys`."""

from tests.end_to_end.support import check_source

SOURCE = """
import torch, types
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x
class Cube(Square):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
class Named(dict): pass
square = Square.apply
OPERATIONS = (square, Cube.apply)
class Layer(torch.nn.Module):
    operation = staticmethod(Cube.apply)
    def __init__(self):
        super().__init__()
        self.inner = Square.apply
    def forward(self, x):
        return self.operation(x) + self.inner(x)
layer = Layer()
make, make_named = dict.fromkeys, Named.fromkeys
def args():
    return (torch.tensor([1.0, 2.0], requires_grad=True),)
"""


def test_a_kept_apply_is_one_node() -> None:
    check_source(
        SOURCE + "def f(x): return square(x), OPERATIONS[1](x), layer(x), list(map(square, [x, x + 1]))",
        breaks=0,
        graphs=1,
    )


def test_kept_class_methods_of_builtin_types() -> None:
    check_source(
        SOURCE
        + "def f(x): return x + 1, make('ab', 1), make_named('a'), type(make_named('a')), Named().fromkeys('b')"
    )


def test_a_bound_class_method_keeps_its_type() -> None:
    check_source(
        SOURCE
        + """
def f(x):
    kept = Square.apply, dict.fromkeys, Named.fromkeys, Named().fromkeys
    kinds = [isinstance(one, types.MethodType) for one in kept], [type(one).__name__ for one in kept]
    return x + 1, kinds, Square.apply == square, square is Square.apply, Cube.apply == square, square.__self__, square.__name__
""",
    )


def test_a_kept_apply_of_a_class_that_replaced_it() -> None:
    check_source(
        SOURCE
        + """
class Logged(Square):
    @classmethod
    def apply(cls, x): return super().apply(x) + 1
original, replaced = super(Logged, Logged).apply, Logged.apply
def f(x): return original(x), replaced(x), Logged.apply(x)
""",
        breaks=0,
    )
