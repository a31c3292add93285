"""The rules on classes and names find a bad snippet, and leave a good one alone."""

from tools.layering import classes
from tools.layering.sources import source


def test_a_class_name_that_two_modules_use_is_found() -> None:
    one, other = (
        source("class A: ...\n", path="one.py"),
        source("class B: ...\nclass A: ...\n", path="other.py"),
    )
    assert [str(problem) for problem in classes.repeated_names([one, other])] == [
        "other.py:2: class A is also one of one.py; name one anew"
    ]


def test_a_class_inside_a_class_may_have_any_name() -> None:
    nested = source("class B:\n    class A: ...\n", path="nested.py")
    assert not classes.repeated_names([source("class A: ...\n", path="one.py"), nested])
