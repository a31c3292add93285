"""Strings, f-strings and formats."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

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


def reports(x, count):
    total, lines = 0.0, []
    for step in range(count):
        x = x.sin()
        loss = x.sum().item()
        total += loss
        print(f"step {step}: {loss:.3f} {total / (step + 1)!r:>30} {step!s}")
        line = f"{step:>4d}|{loss:8.2f}"
        lines.append(line)
        lines.append(line.strip() + f"{len(line)}")
    return x, lines


def announces(x, count):
    for step in range(count):
        x = x.sin()
        print(f"step {step}: {x.sum().item():.3f} {step + 1!s}")
    return x


def keeps(x, n, names):
    key = f"n{n}"
    names[key] = names.get(key, 0) + 1
    other = f"{n}"
    same = other == "3", key in names, {f"{n:03d}": x}, f"{n:>{n + 1}}", hash(other) == hash(str(n))
    try:
        f"{n:zz}"
    except ValueError as error:
        return x + n, names, same, str(error)


def late(x, n):
    text = f"{n} {x.shape[0]}"
    n += 1
    return text, f"{text}-{n}", [text], x * n


def test_texts_of_numbers_that_change():
    check(reports, X, 3)
    check(keeps, X, 3, {})
    check(late, X, 5)


def test_numbers_that_are_only_printed_make_no_graphs():
    made = []

    def backend(module, inputs):
        made.append(module)
        return module.forward

    compiled = frontend.compile(announces, backend=backend)
    compiled(X, 4)
    first = len(made)
    compiled(X, 40)
    assert len(made) == first + 1  # for the other `count`


@pytest.mark.parametrize("numbers", [(1, 2, 3, 4), (1.5, 2, True, 4.0)])
def test_texts_over_several_calls(numbers):
    compiled = frontend.compile(late, backend="eager")
    for number in numbers:
        expected, found = late(X, number), compiled(X, number)
        assert found[:3] == expected[:3]
        assert torch.equal(found[3], expected[3])


SUBCLASSES_OF_BUILTINS = """
import torch

class Dim(int):
    def __repr__(self):
        return f"Dim({int(self)})"

class Rate(float):
    def __str__(self):
        return "rate"

class Name(str):
    def __str__(self):
        return "name"

def f(x):
    d, r, n = Dim(3), Rate(0.5), Name("n")
    texts = [f"{d}", f"{d:03d}", f"{r}", f"{r:.2f}", f"{n}", f"{n:>4}", f"{d!r}", f"{n!s}", f"{d!s:>9}"]
    more = ["{} {} {}".format(d, r, n), "%s %s %s" % (d, r, n), "%d" % d, format(d), format(n, ""), str(r), "".join([n])]
    return x * 2, texts, more

def args():
    return (torch.ones(3),)
"""


def test_texts_of_subclasses_of_builtins():
    check_source(SUBCLASSES_OF_BUILTINS)


METHODS_BOUND_AFTER_THE_GRAPH = """
import re, string, torch

PATTERN = re.compile("a+")

def f(x):
    method = PATTERN.sub
    template = string.Template("$a-$b").substitute(a=1, b="b")
    return x * 2, PATTERN.sub(lambda match: match.group() * 2, "baac"), template, method("z", "aab")

def args():
    return (torch.ones(3),)
"""


def test_c_methods_that_ask_for_their_class_are_called_natively():
    check_source(METHODS_BOUND_AFTER_THE_GRAPH)
