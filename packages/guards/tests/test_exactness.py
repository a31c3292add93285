"""Constants compare exactly by type, all the way down, and so does the generated text."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesmith.guards.comparison import is_plain_constant, same_constant
from framesmith.guards.kinds import EqualTo, KeysAre
from framesmith.guards.sources import Local

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import guards, passes  # noqa: E402  # the neighbour

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf]),
    st.sampled_from([1j, 0j, complex(0.0, -0.0)]),
    st.text("ab'\\\0", max_size=2),
    st.binary(max_size=1),
    st.just(...),
)
CONSTANTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(tuple),
        st.builds(slice, inner, inner, inner),
        st.lists(SCALARS, max_size=2).map(frozenset),
    ),
    max_leaves=4,
)


def written(value):
    """Two constants are the same when they are written the same: `repr` shows types, signs and NaN."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(map(repr, value))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))},)"
    if isinstance(value, slice):
        return f"slice({written((value.start, value.stop, value.step))})"
    return repr(value)


@given(CONSTANTS, CONSTANTS)
def test_two_constants_are_the_same_when_they_are_written_the_same(left, right):
    assert same_constant(left, right) is (written(left) == written(right))
    assert is_plain_constant(left)


@given(CONSTANTS, CONSTANTS)
def test_the_generated_comparison_is_as_exact(left, right):
    assert passes(guards((Local("x"), EqualTo(left))), {"x": right}) is same_constant(right, left)


@given(CONSTANTS)
def test_what_was_captured_is_accepted(value):
    assert passes(guards((Local("x"), EqualTo(value))), {"x": value})


@given(st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=3))
def test_keys_are_compared_with_order_and_type(left, right):
    one, two = dict.fromkeys(left), dict.fromkeys(right)
    expected = written(tuple(one)) == written(tuple(two))
    assert passes(guards((Local("x"), KeysAre(tuple(one)))), {"x": two}) is expected


@given(CONSTANTS, CONSTANTS)
def test_equal_claims_have_equal_hashes(left, right):
    one, two = EqualTo(left), EqualTo(right)
    assert (one == two) is same_constant(left, right)
    assert one != two or hash(one) == hash(two)


def test_objects_of_users_are_compared_by_identity():
    class Loud:
        def __eq__(self, other):
            raise AssertionError("user code ran")

        def __hash__(self):
            return 1

    loud = Loud()
    assert same_constant(loud, loud) and not same_constant(loud, Loud())
    assert not is_plain_constant(loud) and not is_plain_constant((1, loud))


def test_ranges_that_give_the_same_numbers_are_told_apart():
    assert range(0, 10, 3) == range(0, 12, 3)
    assert not same_constant(range(0, 10, 3), range(0, 12, 3))
    assert not same_constant(frozenset({range(0)}), frozenset({range(1, 1)}))
    assert same_constant(range(2, 9), range(2, 9))


def test_claims_about_nans_are_one():
    assert EqualTo(float("nan")) == EqualTo(float("nan"))
    assert EqualTo(float("nan")) != EqualTo(-float("nan"))
    assert len({EqualTo(float("nan")), EqualTo(-float("nan")), EqualTo(complex("nan"))}) == 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_nan_is_any_nan_of_its_sign(sign):
    nan = math.copysign(float("nan"), sign)
    for value in (math.copysign(float("nan"), sign), nan):
        assert EqualTo(nan).check(value)
    assert not EqualTo(nan).check(-nan)
    assert not EqualTo((nan, 1)).check((-nan, 1))
