"""The kind of a call in C is that of the module that it belongs to."""

import random
import time

import pytest

from framesmith.graph.breaks.break_kinds import NATIVE_CALL, RANDOM_STATE, SYSTEM_CALL
from framesmith.variables.core.native_kinds import kind_of_compiled, kind_of_native, name_through


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (time.sleep, SYSTEM_CALL),
        (random.Random.__base__.random, RANDOM_STATE),
        (random.Random.__new__, RANDOM_STATE),
        (len, NATIVE_CALL),
    ],
)
def test_the_module_decides(function, kind) -> None:
    assert kind_of_native(function, ()) is kind


def test_what_is_not_found_through_an_object_has_its_own_name() -> None:
    assert name_through(len, ()) is None


def test_a_value_that_cython_has_not_compiled_has_no_kind() -> None:
    assert kind_of_compiled(random.random) is None
