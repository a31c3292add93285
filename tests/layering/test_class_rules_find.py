"""The rules on classes and names find a bad snippet, and leave a good one alone."""

from tools.layering import callers, classes
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


def test_a_function_without_a_caller_is_found() -> None:
    calling = source("def a(): return b()\ndef b(): return 1\ndef c(): return c()\n", path="calling.py")
    assert [str(problem) for problem in callers.without_callers([calling], ())] == [
        "calling.py:1: a has no caller",
        "calling.py:3: c has no caller",
    ]
    assert not callers.without_callers([calling], {"a", "c"})


def test_what_a_decorator_registers_has_its_caller_there() -> None:
    assert not callers.without_callers([source("@table.row(len)\ndef length(): ...\n")], ())
    assert callers.without_callers([source("@final\n@dataclass(frozen=True)\nclass A: ...\n")], ())


def test_the_public_names_of_the_packages_are_known() -> None:
    assert {"compile", "mark_static", "read_text", "for_loop"} <= callers.public_names()


def test_a_fourth_level_is_found() -> None:
    tree = source("class A: ...\nclass B(A): ...\nclass C(B): ...\nclass D(C): ...\n", path="tree.py")
    assert [str(problem) for problem in classes.deep_classes([tree])] == [
        "tree.py:4: D < C < B < A: more than 3 classes deep"
    ]


def test_a_base_with_type_arguments_is_a_level() -> None:
    tree = source("class A: ...\nclass B(A, Generic[T]): ...\nclass C(B[int]): ...\nclass D(C): ...\n")
    assert [problem.text for problem in classes.deep_classes([tree])] == [
        "D < C < B < A: more than 3 classes deep"
    ]


def test_a_private_member_of_a_base_is_found() -> None:
    reading = source(
        "class B(A):\n    def f(self): return self._held + self._own()\n    def _own(self): return 1\n"
    )
    assert [problem.text for problem in classes.foreign_privates(reading)] == [
        "B reads self._held, which a base keeps to itself"
    ]
