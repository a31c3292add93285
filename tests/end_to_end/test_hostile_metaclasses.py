"""Classes whose metaclass compares or hashes them: the trace runs neither, and classes that cannot be hashed are no bug."""

import pytest
from tests.end_to_end.logged import check_log

METACLASSES = {
    "compares and hashes": "__eq__ = heard('eq', type.__eq__); __hash__ = heard('hash', type.__hash__)",
    "cannot be hashed": "__eq__ = heard('eq', type.__eq__); __hash__ = None",
}
USES = {
    "attribute": "return x + ONE.v",
    "method": "return ONE.scaled(x)",
    "constructed": "return Hostile().scaled(x)",
    "class read": "return Hostile is type(ONE), isinstance(ONE, Hostile), x + 1",
    "class attribute": "return x + Hostile.w",
    "iterated": "return [x + i for i in Counter()]",
    "raised": "try:\n        raise Failure('a')\n    except Failure as failure:\n        return x, str(failure)",
    "entered": "with Hostile() as k:\n        return x + k",
    "list": "return x + LIST[0] + len(LIST)",
    "module": "return MODULE(x)",
    "formatted": "return x, f'{LIST}', str(LIST), '%s' % LIST, '{}'.format(LIST)",
    "made and formatted": "return x, f'{List([1])}', List([1]) + [2], sorted(List([2, 1]))",
    "held": "return [ONE, x][1], {'k': ONE}['k'].v",
}
PROGRAM = """
log = []
def heard(name, own):
    def method(cls, *rest):
        log.append(name)
        return own(cls, *rest)
    return method
class Meta(type):
    {metaclass}
class Hostile(metaclass=Meta):
    w = 3.0
    def __init__(self): self.v = 2.0
    def scaled(self, x): return x * self.v
    def __enter__(self): return 3
    def __exit__(self, *error): return False
class Counter(metaclass=Meta):
    n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 3: raise StopIteration
        return self.n
class Failure(Exception, metaclass=Meta): pass
class List(list, metaclass=Meta): pass
class Module(torch.nn.Module, metaclass=Meta):
    def forward(self, x): return x + 1
ONE, LIST, MODULE = Hostile(), List([1.0]), Module()
def f(x):
    {use}
args = lambda: (X,)
log.clear()
changes = [lambda: None, lambda: None]
"""


@pytest.mark.parametrize("metaclass", METACLASSES)
@pytest.mark.parametrize("use", USES)
def test_the_metaclass_is_asked_as_often_as_in_eager(use, metaclass, recwarn) -> None:
    check_log(PROGRAM.format(metaclass=METACLASSES[metaclass], use=USES[use]), results=use != "held")
    assert not [str(one.message) for one in recwarn if "has a bug" in str(one.message)]
