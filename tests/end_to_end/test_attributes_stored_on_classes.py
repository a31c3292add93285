"""Classes that the compiled function itself changes: an attribute of an instance is the new one."""

import pytest
from tests.end_to_end.support import check_source


@pytest.mark.parametrize("made", ["", "    N = collections.namedtuple('N', 'a b')\n"])
@pytest.mark.parametrize(
    ("change", "use"),
    [
        ("N.k = 7", "n.k"),
        ("N.area = lambda s: s.a * s.b", "n.area()"),
        ("N.a = 5", "n.a"),
        ("N._fields = ('p', 'q')", "len(n._asdict())"),
        ("N.k = 7; del N.k", "n.k"),
        ("N.a = property(lambda s: s[1])", "n.a"),
    ],
)
def test_an_attribute_that_was_stored_on_the_class_is_read(made, change, use):
    check_source(f"""
import collections, torch
N = collections.namedtuple("N", "a b")
def f(x):
{made}    n = N(x, 2)
    {change}
    try:
        return x + 1, {use}
    except AttributeError as error:
        return x - 1, str(error)
def args():
    return (torch.ones(3),)
""")


CLASSES = """
import collections, dataclasses, enum, torch, typing
class E(enum.Enum): A = 1
class F(enum.IntFlag): A = 1; B = 2
class X(ValueError): pass
class L(list): pass
class D(collections.OrderedDict): pass
class Q(collections.deque): pass
class I(int): pass
class T(tuple): pass
class G(typing.NamedTuple):
    a: int = 1
@dataclasses.dataclass
class Dc: a: int
def args():
    return (torch.ones(3),)
"""
MADE = ["E.A", "F.A|F.B", "X(1)", "L([1])", "D(a=1)", "Q([1])", "I(3)", "T([1])", "G(2)", "Dc(2)"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    ("name", "value", "use"),
    [
        ("k", "7", "o.k"),
        ("k", "lambda s: 5", "o.k()"),
        ("k", "property(lambda s: 6)", "o.k"),
        ("count", "lambda s: 9", "o.count()"),
        ("name", "'zz'", "o.name"),
        ("value", "property(lambda s: 6)", "o.value"),
        ("a", "5", "o.a"),
    ],
)
def test_each_kind_of_instance_reads_it(made, name, value, use):
    cls = made.replace("(", ".").partition(".")[0]
    check_source(f"""{CLASSES}
def f(x):
    o = {made}
    {cls}.{name} = {value}
    try:
        return x + 1, {use}
    except (AttributeError, TypeError) as error:
        return x - 1, str(error)
""")
