"""Strings, f-strings and formats."""

import pytest
import torch
from tests.end_to_end.support import check

X = torch.tensor([-1.5, 0.25, 2.0])


class Shown:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"<{self.n}>"

    def __format__(self, spec):
        return f"{spec}:{self.n}"


PROGRAMS = {
    "f-string": lambda x, n, s: f"{n} {n!r:>5} {s!r} {n:03d} {2.5:.2f} {s:>10}|{n + 1=}",
    "nested spec": lambda x, n, s: f"{n:{n + 3}d} {s:{'<'}{8}}|",
    "user format": lambda x, n, s: f"{Shown(n)} {Shown(n)!r} {Shown(n):spec} {Shown(n)!s:>5}",
    "str.format": lambda x, n, s: (
        "{} {1} {name!r} {0[0]}".format(s, n, name=s)
        if False
        else "{0} {1} {name!r:>6} {0[0]}".format(s, n, name=s)
    ),
    "percent": lambda x, n, s: "%s %r %d %05.1f %%" % (s, s, n, 2.5) + "%(a)s" % {"a": n},
    "shape": lambda x, n, s: (f"{x.shape} {x.dtype} {x.device} {tuple(x.shape)}", str(x.shape)),
    "methods": lambda x, n, s: (
        s.upper(),
        s.split("b"),
        s.replace("a", "z"),
        s.startswith("a"),
        s.strip(),
        s.find("c"),
        s.join(["x", "y"]),
        s * n,
        s[::-1],
        s.encode(),
        s.partition("b"),
        s.zfill(8),
        s.isdigit(),
        s.title(),
        s.center(9, "*"),
    ),
    "operators": lambda x, n, s: (
        s + "x",
        "b" in s,
        s < "b",
        s == "abc",
        len(s),
        s[1],
        s[-2:],
        hash(s) == hash("abc"),
        ord("a"),
        chr(98),
        list(s),
    ),
    "conversion": lambda x, n, s: (
        str(n),
        str(2.5),
        repr(s),
        str(None),
        str([1, "a", s]),
        str({"a": n}),
        ascii("é"),
        int("7") + n,
        bin(n),
        hex(255),
        oct(8),
        format(n, "04d"),
    ),
    "join": lambda x, n, s: ("-".join(str(i) for i in range(n)), " ".join([s, s])),
    "translate": lambda x, n, s: (
        s.translate(str.maketrans("ab", "xy")),
        s.splitlines(),
        "a\tb".expandtabs(4),
        s.removeprefix("a"),
        s.casefold(),
    ),
    "bytes": lambda x, n, s: (s.encode().decode("utf-8"), b"%d" % n, bytes([65, 66]), b"ab".hex()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_strings_with(name):
    function = PROGRAMS[name]
    check(lambda x, n, s: (x * n, function(x, n, s)), X, 3, "abc")


def test_errors_are_like_eager():
    for bad in (
        lambda x: "{}".format(),
        lambda x: "%d" % "a",
        lambda x: f"{3:zz}",
        lambda x: "a" + 1,
        lambda x: "abc"[7],
        lambda x: "a".index("z"),
        lambda x: "%s %s" % (1,),
    ):
        check(bad, X)


def test_string_argument_is_guarded():
    check(
        lambda x, box: x + 1 if box[0] == "a" else x - 1,
        X,
        ["a"],
        change=lambda x, box: box.__setitem__(0, "b"),
    )


def test_tensor_in_a_string():
    check(lambda x: (f"{x}", str(x.sum()), repr(x), f"{x[0]:.2f}"), X)


def test_string_of_an_item():
    check(lambda x: f"{x.sum().item():.3f}", X)
