"""Named tuples whose class the compiled function itself changes: an attribute of an instance is the new one."""

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
