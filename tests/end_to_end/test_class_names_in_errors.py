"""Errors of Python that name a class: as CPython names it, for classes written in C with their module."""

import collections
import datetime
import decimal
import functools
import re

import numpy as np
import pytest
import torch

from framesmith import frontend

DAY, SIZE, QUEUE, TENTH, FLOAT = (
    "datetime.timedelta(1)",
    "torch.Size([1])",
    "collections.deque([1])",
    "decimal.Decimal(1)",
    "np.float32(1)",
)
PROGRAMS = [
    *(f"{left}[{key}]" for left in ("[1]", "(1,)", "'ab'", "b'ab'", QUEUE) for key in (SIZE, DAY, TENTH, FLOAT)),
    *(f"round({value})" for value in (DAY, QUEUE, "torch.Generator()", "x.max(0)")),
    *(f"{call}({value})" for call in ("abs", "len", "iter", "next", "reversed", "min", "enumerate", "zip", "range", "chr") for value in (DAY, QUEUE)),
    *(f"{left} + {right}" for left in ("[1]", "(1,)", "'a'", SIZE, "x.max(0)") for right in (QUEUE, DAY, "2")),
    *(f"{name}(x, {value}, 1)" for name in ("setattr", "getattr") for value in (SIZE, DAY, "functools.partial(len)")),
    *(f"functools.reduce(max, {value})" for value in (FLOAT, "2", DAY)),
    "(lambda *a: a)(*re.compile('a'))", "(lambda **k: k)(**re.compile('a'))", "''.join([torch.Size])", f"''.join([{SIZE}])",
    "float(collections.defaultdict(int))", f"int({QUEUE})", f"{DAY} < 3", f"-{QUEUE}", f"{DAY}()", "torch.Size in 'abc'",
    "format(collections.OrderedDict(), 'x')", f"{{{QUEUE}: 1}}", f"{{}}[{QUEUE}]", f"super({DAY})", f"super(int, {QUEUE}).x",
    f"isinstance(1, {DAY})", f"[1] * {DAY}", f"int.__add__({DAY}, 1)", f"str.upper({SIZE})", f"list.append({SIZE}, 1)",
    f"divmod({QUEUE}, 2)", f"bytes([{QUEUE}])", f"sorted([{DAY}, 2])", f"{{1}} | {QUEUE}", f"'%d' % {DAY}", f"int('a', {QUEUE})",
]  # fmt: skip
NAMES = {
    "torch": torch, "np": np, "collections": collections, "datetime": datetime, "decimal": decimal, "functools": functools, "re": re,
}  # fmt: skip


def outcome(function):
    try:
        return type(function(torch.ones(2)))
    except Exception as error:
        return type(error), str(error), error.__context__


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_class_is_named_as_in_eager(program):
    function = eval(f"lambda x: {program}", NAMES)
    compiled = frontend.compile(function, backend="eager")
    assert outcome(compiled) == outcome(compiled) == outcome(function)
