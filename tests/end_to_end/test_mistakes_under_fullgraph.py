"""A mistake of the program is eager's error under `fullgraph=True` too, wherever Python's own rule says that it is one."""

import sys
import types

import pytest
import torch

from framesmith import frontend

X = torch.ones(2, 3)


class Plain:
    def method(self, a):
        return a


class OnlyEntered:
    def __enter__(self):
        return self


def give(a, b=1, *, c=2):
    return a + b + c


def enter_no_manager(x):
    with Plain():
        return x


def enter_what_has_no_exit(x):
    with OnlyEntered():
        return x


def enter_a_tensor(x):
    with x:
        return x


def give_too_much(x):
    return (lambda a: a)(1, 2) + x


def give_too_little(x):
    return give() + x


def give_an_unknown_keyword(x):
    return give(1, d=3) + x


def give_twice(x):
    return give(1, a=1) + x


def give_one_keyword_in_two_dicts(x):
    return give(1, **{"a": 1}, **{"a": 2}) + x


def give_what_is_no_sequence(x):
    return give(*5) + x


def give_what_is_no_mapping(x):
    return give(**5) + x


def give_keywords_that_are_no_strings(x):
    return give(**{1: 2}) + x


def unpack_no_mapping(x):
    return {**x}


def call_a_method_without_arguments(x):
    return Plain().method() + x


def make_a_module_without_arguments(x):
    return torch.nn.Linear(3)(x)


def map_a_function_of_two(x):
    return torch.vmap(lambda a, b: a)(x)


def call_a_builtin_with_too_much(x):
    return x + len([1], [2])


def append_nothing(x):
    [].append()
    return x


def append_to_an_int(x):
    list.append(5, 1)
    return x


def call_a_tensor(x):
    return x()


def call_a_list(x):
    items = [1]
    return items() + x


def search_an_int(x):
    return x in 5


def raise_nothing(x):
    y = x + 1
    raise
    return y


def import_no_module(x):
    import nosuchmodule

    return x + nosuchmodule.a


def import_inside_no_package(x):
    import os.nosuch

    return x + os.nosuch.a


def import_no_name(x):
    from os import nosuch

    return x + nosuch


def import_no_name_of_a_package(x):
    from torch.nn import Linear, NoSuch

    return Linear(3, 3)(x) + NoSuch


def match_twice(x):
    match 1:
        case int(1, 2):
            return x
    return x + 1


def differentiate_constants(x):
    x.sum().backward()
    return x


MISTAKES = [
    value
    for value in list(globals().values())
    if isinstance(value, types.FunctionType) and value.__module__ == __name__ and value is not give
]


def raised(function, x):
    with pytest.raises(Exception) as caught:
        function(x)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("function", MISTAKES, ids=lambda function: function.__name__)
def test_a_mistake_is_eagers_error(function) -> None:
    strict = frontend.compile(function, backend="eager", fullgraph=True)
    plain = frontend.compile(function, backend="eager")
    for _ in range(2):
        expected = raised(function, X.clone())
        assert raised(strict, X.clone()) == expected
        assert raised(plain, X.clone()) == expected


def test_the_finally_of_the_program_runs() -> None:
    seen = []

    def f(x):
        try:
            return give() + x
        finally:
            seen.append(1)

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        frontend.compile(f, backend="eager", fullgraph=True)(X)
    assert seen == [1]


def test_a_module_that_appears_later_is_imported(monkeypatch) -> None:
    def f(x):
        from torch.nn import appearing

        return x + appearing.amount

    compiled = frontend.compile(f, backend="eager")
    with pytest.raises(ImportError):
        compiled(X)
    module = types.ModuleType("torch.nn.appearing")
    module.amount = 2
    monkeypatch.setitem(sys.modules, "torch.nn.appearing", module)
    assert torch.equal(compiled(X), X + 2)
    monkeypatch.delattr(torch.nn, "appearing", raising=False)


def test_what_is_no_mistake_stays_a_refusal() -> None:
    def f(x):
        return x + len(str(print(x)))

    with pytest.raises(frontend.FullGraphError, match="printing"):
        frontend.compile(f, backend="eager", fullgraph=True)(X)
