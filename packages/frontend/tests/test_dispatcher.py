"""The dispatcher is a plain function with the user's signature; entries are tried in order."""

import inspect
import traceback
import weakref
from types import FunctionType

from framesmith.frontend.generated.dispatcher import Dispatcher, Signature
from framesmith.frontend.generated.entry import Entry, EntryBody
from framesmith.frontend.generated.functions import Identity, generate_function
from framesmith.guards import Guard, GuardSet
from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import Local


def user(a, b, /, c=3, *rest, key, **more):
    """Never runs."""


def dispatcher_of(function: FunctionType) -> Dispatcher:
    return Dispatcher(Signature.of_function(function.__code__), globals())


def entry(value: int, result: object) -> Entry:
    guards = GuardSet([Guard(Local("a"), EqualTo(value))])
    return Entry(guards, (Local("a"),), lambda a: (result, a), "")


def test_the_signature_is_the_users() -> None:
    made = dispatcher_of(user).make_function(lambda *values: values)
    parameters = [(p.name, p.kind) for p in inspect.signature(made).parameters.values()]
    assert parameters == [(p.name, p.kind) for p in inspect.signature(user).parameters.values()]


def test_a_miss_gets_the_locals_in_order() -> None:
    made = dispatcher_of(user).make_function(lambda *values: values)
    assert made(1, 2, 4, 5, key=6, z=7) == (1, 2, 4, 6, (5,), {"z": 7})


def test_the_first_entry_whose_guards_hold_is_called() -> None:
    made = dispatcher_of(user)
    call = made.make_function(lambda *values: "missed")
    made.add(entry(1, "one"))
    made.add(entry(2, "two"))
    results = [call(a, 0, 0, key=0) for a in (1, 2, 3)]
    assert results == [("one", 1), ("two", 2), "missed"]


def test_an_older_entry_that_serves_calls_is_tried_first() -> None:
    made = dispatcher_of(user)
    call = made.make_function(lambda *values: "missed")
    made.add(entry(1, "one"))
    older = made._first.cell_contents
    made.add(entry(2, "two"))
    assert made._first.cell_contents is not older
    results = [call(a, 0, 0, key=0) for a in (1, 1, 1, 1, 2, 1, 3)]
    assert made._first.cell_contents is older
    assert results == [("one", 1)] * 4 + [("two", 2), ("one", 1), "missed"]
    made.clear()
    assert call(1, 0, 0, key=0) == "missed"


def test_an_exception_of_an_entry_is_no_miss() -> None:
    def fails(a: object) -> object:
        raise KeyError(a)

    made = dispatcher_of(user)
    call = made.make_function(lambda *values: "missed")
    made.add(Entry(GuardSet([Guard(Local("a"), EqualTo(1))]), (Local("a"),), fails, ""))
    try:
        call(1, 2, 3, key=3)
    except KeyError as error:
        assert error.args == (1,)
        assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:] == ["fails"]
    else:
        raise AssertionError("the exception was swallowed")


def test_a_dispatcher_is_freed_with_what_its_entries_hold() -> None:
    class Held:
        pass

    held, outer = Held(), 5
    function = lambda a: outer  # noqa: E731
    made = dispatcher_of(function)
    made.add(Entry(GuardSet(), (), lambda: (held, made), ""))
    call = made.make_function(lambda *values: made, function.__closure__)
    alive = [weakref.ref(held), weakref.ref(call)]
    made.clear()
    del held, made, call
    assert [one() for one in alive] == [None, None]


def test_generated_functions_take_the_users_place() -> None:
    identity = Identity("f", "C.f", "/somewhere/user.py", 10, 0)
    made = generate_function("x", [("y = x + one", 41), ("raise ValueError(y)", 7)], {"one": 1}, identity, {})
    try:
        made(1)
    except ValueError as error:
        frame = traceback.extract_tb(error.__traceback__)[1]
        assert (frame.filename, frame.lineno, frame.name) == ("/somewhere/user.py", 7, "f")
    assert made.__qualname__ == "C.f"


def test_a_body_uses_arguments_by_their_own_names() -> None:
    body = EntryBody(("__fs_l0_a", "__fs_l1_b"), (("return __fs_l0_a, __fs_l1_b, __fs_l0_ab", 7),), {})
    loads = {"__fs_l0_a": "a", "__fs_l1_b": "__fs_t0"}
    assert body.inline_lines(loads, ("a",), 5) == [
        ("__fs_l1_b = __fs_t0", 5),
        ("return a, __fs_l1_b, __fs_l0_ab", 7),
    ]


def test_a_body_with_texts_is_not_rewritten() -> None:
    body = EntryBody(("__fs_l0_a",), (("return __fs_l0_a, '__fs_l0_a'", 7),), {})
    assert body.inline_lines({"__fs_l0_a": "a"}, ("a",), 5) == [("__fs_l0_a = a", 5), *body.lines]
