"""The subpackage `generated`: `entry`, `functions`, `source_writer`, `tail_calls`, `verification`."""

import sys
import weakref

import pytest
from stepping import trace_of

from framesmith.frontend.generated import tail_calls
from framesmith.frontend.generated.entry import EntryText
from framesmith.frontend.generated.functions import Identity, spelling
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import TailCall, run_tail_calls
from framesmith.frontend.generated.verification import verify_if_enabled
from framesmith.frontend.hidden_frames import HIDDEN, hidden, is_hidden
from framesmith.guards import GuardSet
from framesmith.guards.sources import Local, Pinned
from framesmith.variables.core import Constant, from_python


def identity(x):
    return x


def text(lines: list[str], **more) -> EntryText[str]:
    place = Identity("f", "C.f", "user.py", 7, 0)
    numbered = tuple((line, 7 + index) for index, line in enumerate(lines))
    return EntryText(place, {}, GuardSet(), (Local("x"),), ("x",), numbered, {"one": 1}, **more)


def test_an_entry_is_bound_to_the_functions_of_its_targets() -> None:
    entry = text(["return go(x + one)"], targets={"go": "there"}).bind(lambda target: lambda x: (target, x))
    assert entry.function(2) == ("there", 3)
    assert entry.source == "def f(x):\n    return go(x + one)"


def test_a_short_entry_that_does_not_leave_is_compiled_behind_its_guards() -> None:
    assert text(["return x"]).bind(lambda target: len).body is not None
    assert text(["return x"], leaves=True).bind(lambda target: len).body is None
    assert text(["x"] * 30).bind(lambda target: len).body is None


def test_a_forwarding_entry_represents_no_function_of_the_user() -> None:
    assert (
        text(["return x"], is_forwarding=True).bind(lambda target: len).function.__code__.co_filename
        == HIDDEN
    )


def test_a_writer_names_each_object_once() -> None:
    writer = EntryWriter(1)
    value: list[int] = []
    assert writer.constant(value, "a b") == writer.constant(value, "other") == "__fs_k0_a_b"
    assert writer.constants.values == {"__fs_k0_a_b": value}
    assert writer.load(Local("x")) == writer.load(Local("x")) == "__fs_l0_x"
    assert writer.load(Pinned(value, "pinned")) == "__fs_k0_a_b"


def test_a_writer_builds_a_value_where_it_is_used_first() -> None:
    writer = EntryWriter(3)
    made = from_python(trace_of(identity.__code__).tx, [1])
    assert writer.find_variable(made) is None
    assert writer.value(made) == writer.value(made) == writer.find_variable(made)
    assert len(writer.body) == 1 and writer.body[0][1] == 3
    assert writer.value(Constant(5)) == "5"


def test_tail_calls_run_on_a_flat_stack() -> None:
    def depth() -> int:
        frame, found = sys._getframe(), 0
        while frame is not None:
            frame, found = frame.f_back, found + 1
        return found

    def count(left: int, seen: list[int]) -> object:
        seen.append(depth())
        return TailCall((count, (left - 1, seen))) if left else seen

    assert len(set(run_tail_calls(TailCall((count, (5, [])))))) == 1
    assert run_tail_calls("no tail call") == "no tail call"


def test_a_tail_call_holds_its_arguments_no_longer_than_the_call() -> None:
    class Held:
        pass

    def first(value: Held) -> object:
        return TailCall((second, (weakref.ref(value),)))

    def second(reference: weakref.ref[Held]) -> object:
        return reference()

    found = run_tail_calls(TailCall((first, (Held(),))))  # in an `assert` pytest would hold the arguments
    assert found is None


def test_what_a_native_operation_raised_is_raised_again() -> None:
    error = KeyError("x")
    assert tail_calls.continue_after_raising(error, TailCall()) == []
    with pytest.raises(KeyError) as caught:
        tail_calls.raise_again(error, ())
    assert caught.value is error


def test_our_frames_are_taken_off_the_head_of_a_traceback() -> None:
    @hidden
    def ours() -> None:
        user()

    def user() -> None:
        raise ValueError

    try:
        ours()
    except ValueError as error:
        error.__traceback__ = error.__traceback__.tb_next
        tail_calls.strip_our_frames(error)
        assert error.__traceback__.tb_frame.f_code is user.__code__
    assert is_hidden(ours.__code__) and tail_calls.is_inserted(ours.__code__)
    assert tail_calls.is_ours(run_tail_calls.__code__) and not tail_calls.is_ours(user.__code__)


def test_names_like_our_own_are_spelled_otherwise() -> None:
    assert [spelling(name) for name in ("x", "__fs_x", "user__fs_x")] == ["x", "user__fs_x", "useruser__fs_x"]


def test_sound_code_is_given_back() -> None:
    assert verify_if_enabled(text.__code__) is text.__code__
