"""Warnings that an entry issues after the graph: which filters may fit, and the frames from which they are issued."""

import re
import sys

import pytest

from framesmith.frontend.generated.synthetic_frames import FramePlace, make_synthetic_frame
from framesmith.frontend.tracing.deferred_calls import _possible_actions

ANY = ("default", None, Warning, None, 0)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([("ignore", None, UserWarning, None, 0), ANY], {"ignore"}),
        ([("ignore", None, DeprecationWarning, None, 0), ANY], {"default"}),
        ([("error", re.compile("old"), Warning, None, 0), ANY], {"error"}),
        ([("error", "old", Warning, None, 0), ANY], {"default"}),
        ([("error", None, Warning, re.compile("m"), 0), ANY], {"error", "default"}),
        ([("error", None, Warning, None, 3), ANY], {"error", "default"}),
        ([("error", None), ANY], None),
    ],
)
def test_the_actions_that_filters_may_have_are_found(filters: list[object], found: set[str] | None) -> None:
    assert _possible_actions(UserWarning, "old news", filters) == found


def test_a_text_that_is_not_known_may_fit_any_pattern() -> None:
    filters = [("error", re.compile("never"), Warning, None, 0), ANY]
    assert _possible_actions(UserWarning, None, filters) == {"error", "default"}


def inner() -> None: ...


def test_a_stand_in_has_the_name_the_line_and_the_globals_of_the_frame() -> None:
    space = {"__name__": "elsewhere"}
    synthetic = make_synthetic_frame(
        [FramePlace(inner.__code__, 7, space), FramePlace(inner.__code__, 9, space)]
    )
    assert synthetic is not None
    frames = synthetic(lambda: [sys._getframe(1), sys._getframe(2)])
    assert [(frame.f_code.co_name, frame.f_lineno) for frame in frames] == [("inner", 9), ("inner", 7)]
    assert all(frame.f_globals is space for frame in frames)


def test_no_frames_need_no_stand_in() -> None:
    assert make_synthetic_frame([]) is None
