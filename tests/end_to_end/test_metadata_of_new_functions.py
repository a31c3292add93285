"""Attributes of a function made in the trace: what its type accepts, and what is refused."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
def f():
    def g(x: int = 3):
        return x
    def made(form):
        return {"y": form}
    held = [g]
    try:
        g.NAME = VALUE
    except Exception as error:
        return type(error).__name__, str(error)
    found = [g.__name__, g.__annotations__, held[0](4)]
    try:
        found.append(g.a)
    except AttributeError as error:
        found.append(str(error))
    return found
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("__name__", "5"),
        ("__name__", "'h'"),
        ("__qualname__", "None"),
        ("__annotations__", "5"),
        ("__annotations__", "None"),
        ("__annotations__", "{'a': 1}"),
        ("__annotate__", "made"),
        ("__builtins__", "5"),
        ("__type_params__", "5"),
        ("__dict__", "{'a': 1}"),
        ("__class__", "5"),
        ("__doc__", "5"),
        ("a", "5"),
    ],
)
def test_metadata_is_stored_as_the_type_accepts_it(name: str, value: str) -> None:
    check_source(PROGRAM.replace("NAME", name).replace("VALUE", value))


@pytest.mark.parametrize("name", ["__partialmethod__", "__wrapped__", "__isabstractmethod__", "_"])
def test_an_attribute_that_no_function_has_is_absent(name: str) -> None:
    lines = f"    def g(): pass\n    try:\n        g.{name}\n    except AttributeError as error:\n        return str(error), getattr(g, {name!r}, 3)\n"
    check_source(f"def f():\n{lines}", breaks=0)
