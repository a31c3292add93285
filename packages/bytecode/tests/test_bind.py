"""Binding placeholder names to objects."""

from types import CodeType, FunctionType

import pytest

from framesmith.bytecode.bind import bind_constants
from framesmith.bytecode.errors import AssembleError


def bound(source: str, values: dict[str, object], name: str = "f") -> FunctionType:
    scope: dict[str, object] = {}
    exec(compile(source, "<generated>", "exec"), scope)
    function = scope[name]
    assert isinstance(function, FunctionType)
    code = bind_constants(
        function.__code__, values, name="user", qualname="A.user", filename="user.py", firstlineno=7
    )
    return FunctionType(code, scope, "user", function.__defaults__, function.__closure__)


def test_a_loaded_placeholder_is_the_very_object() -> None:
    thing: list[int] = []
    assert bound("def f(): return HOLE", {"HOLE": thing})() is thing


def test_a_called_placeholder_keeps_its_null() -> None:
    assert bound("def f(x): return HOLE(x, base=2) + HOLE(x, base=3)", {"HOLE": int})("11") == 3 + 4


def test_nested_functions_are_bound() -> None:
    assert bound("def f(): return [(lambda: HOLE)() for _ in (1, 2)]", {"HOLE": {"a": 1}})() == [{"a": 1}] * 2


def test_attributes_are_replaced() -> None:
    code = bound("def f(): return (lambda: HOLE)", {"HOLE": 1}).__code__
    assert (code.co_name, code.co_qualname, code.co_filename) == ("user", "A.user", "user.py")
    assert code.co_firstlineno == 7
    inner = next(one for one in code.co_consts if isinstance(one, CodeType))
    assert inner.co_filename == "user.py"


def test_attributes_that_are_not_given_stay() -> None:
    code = test_attributes_are_replaced.__code__
    made = bind_constants(code, {"bound": 1})
    for name in ("co_name", "co_qualname", "co_filename", "co_firstlineno"):
        assert getattr(made, name) == getattr(code, name)
    assert bind_constants(code, {}, name="other").co_firstlineno == code.co_firstlineno


def test_placeholders_leave_no_trace_in_the_names() -> None:
    assert bound("def f(): return HOLE.real + len('a')", {"HOLE": 1}).__code__.co_names == ("real", "len")


def test_equal_objects_stay_apart() -> None:
    one, two = [1], [1]
    first, second = bound("def f(): return A, B", {"A": one, "B": two})()
    assert first is one and second is two


def test_strings_and_tuples_keep_their_identity() -> None:
    text = "".join(["identi", "fier"])
    pair = ("".join(["identi", "fier"]), 1)
    frozen = frozenset([pair])
    found = bound("def f(): return A, B, C", {"A": text, "B": pair, "C": frozen})()
    assert found[0] is text and found[1] is pair and found[2] is frozen
    assert bound("def f(): return A.__len__()", {"A": text})() == 10


def test_many_placeholders_need_wide_arguments() -> None:
    values: dict[str, object] = {f"HOLE{index}": object() for index in range(700)}
    body = "def f(n):\n    while n:\n        n = n - 1\n        r = (" + ", ".join(values) + ")\n    return r"
    assert bound(body, values)(2) == tuple(values.values())


def takes(width: int) -> object:
    return max(width, 0), lambda: min(width, 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mx", r"got 'mx', which takes loads as no global; did you mean 'max'\? \(there is max, min\)"),
        ("width", r"got 'width', which takes loads as no global \(there is max, min\)"),
        (3, "got 3, which takes loads as no global"),
    ],
)
def test_a_name_that_does_not_occur_is_refused(name: str, message: str) -> None:
    with pytest.raises(AssembleError, match=message):
        bind_constants(takes.__code__, {"max": max, name: 1})


def test_a_name_of_a_nested_function_occurs() -> None:
    bind_constants(takes.__code__, {"min": min})


def test_of_a_code_without_globals_none_can_be_bound() -> None:
    with pytest.raises(AssembleError, match=r"<lambda> loads as no global \(there is none\)"):
        bind_constants((lambda: 1).__code__, {"x": 1})
