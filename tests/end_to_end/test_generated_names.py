"""Names in generated code: unique and valid whatever the user's own names are."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

OWN = [
    "__fs_first",
    "__fs_result",
    "__fs_attempt",
    "__fs_t0",
    "__fs_l0_x",
    "user__fs_first",
    "local_0_x",
    "stack_0_0",
]
PARAMETERS = [
    *OWN,
    "hidden_2e30",
    "raised",
    "self_",
    "class_",
    "None_",
    "torch",
    "inf",
    "device",
    "été",
    "v" * 300,
]


class Stages(torch.nn.Module):
    """`stage_0` and `stage[0]` read alike."""

    def __init__(self):
        super().__init__()
        self.stage_0 = torch.nn.Linear(3, 3)
        self.stage = torch.nn.ModuleList([torch.nn.Linear(3, 3)])

    def forward(self, x):
        return self.stage[0](self.stage_0(x))


def test_two_sources_that_read_alike_are_two_placeholders():
    check(Stages(), torch.ones(2, 3), graphs=1, breaks=0)


def test_keys_that_read_alike_are_two_placeholders():
    x = torch.ones(2)
    given = {
        "a.b": x * 2,
        "a_b": x * 3,
        "a": {"b": x * 4},
        "a b": x * 5,
        "²": x * 6,
        "x" * 5000: x * 7,
        "a'b\n]": x * 8,
    }
    check(lambda d: [d[key] * d["a"]["b"] for key in d if key != "a"], given, graphs=1, breaks=0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_any_parameter_name_is_fine_before_and_after_a_break(name):
    check_source(
        f"import torch as T\ndef args(): return T.ones(3), T.ones(3) * 2\n"
        f"def f({name}, x):\n    y = {name} + x\n    print('break')\n    return {name}.relu() * y * x"
    )


@pytest.mark.parametrize("name", PARAMETERS)
def test_any_name_of_a_cell_a_global_and_a_keyword_is_fine(name):
    check_source(
        f"import torch as T\n{name} = T.ones(3) * 3\n"
        f"def outer():\n    {name} = T.ones(3) * 4\n"
        f"    def inner(x):\n        nonlocal {name}\n        {name} = {name} + x\n        return {name}\n    return inner\n"
        f"inner = outer()\n"
        f"def with_keyword(x, *, {name}): return x - {name}\n"
        f"def reads(x): return {name} * x\n"
        f"def args(): return (T.ones(3),)\n"
        f"def f(x):\n    a = inner(x) + reads(x)\n    print('break')\n    return a * with_keyword(x, {name}=a) * inner(a)"
    )


@pytest.mark.parametrize("name", OWN)
def test_a_keyword_only_parameter_keeps_its_name(name):
    namespace: dict[str, object] = {}
    exec(f"def f(x, *, {name}, **rest): return x * {name} + len(rest)", namespace)
    check(namespace["f"], torch.ones(3), kwargs={name: 2, "more": 1}, breaks=0)
