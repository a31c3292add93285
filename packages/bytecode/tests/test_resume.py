"""Continuations: from every operation of many functions, compared with the run that was not interrupted."""

import asyncio
import sys
import traceback
import types
from typing import TypeVar

import pytest
from bytecode_programs import GENERATORS, PROGRAMS, cells, current
from bytecode_reference import Paused, Returned, SavedException, SavedOffset, execute, frame_of
from bytecode_reference_rows import NULL

from framesmith.bytecode.errors import ResumeError
from framesmith.bytecode.meaning import NULL_FIRST, Kind, read
from framesmith.bytecode.resume import ResumeLayout, StackItem, resume_function
from framesmith.bytecode.verify import verify

_KNOWN = {}
RAISING = {
    Kind.CALL,
    Kind.CALL_EXTENDED,
    Kind.BINARY,
    Kind.COMPARE,
    Kind.SUBSCRIPT,
    Kind.STORE_SUBSCRIPT,
    Kind.LOAD_ATTRIBUTE,
    Kind.STORE_ATTRIBUTE,
    Kind.LOAD_METHOD,
    Kind.LOAD_GLOBAL,
    Kind.LOAD_CELL,
    Kind.FOR_ITER,
    Kind.GET_ITER,
    Kind.BEFORE_WITH,
    Kind.LOAD_SPECIAL,
    Kind.WITH_EXCEPT_START,
    Kind.UNPACK_SEQUENCE,
    Kind.FORMAT_VALUE,
    Kind.MATCH_CLASS,
}


def native_slots(frame, index):
    """Layout of the frame's stack and the values to pass for it."""
    slots, values = [], []
    stack = frame.stack
    saved = [i for i, value in enumerate(stack) if isinstance(value, SavedException)]
    handled = {i: stack[j].previous for i, j in zip(saved, saved[1:])}
    if saved:
        handled[saved[-1]] = frame.handled
    skip = -1
    for i, value in enumerate(stack):
        if i == skip:
            continue
        if value is NULL:
            slots.append(StackItem.NULL)
        elif isinstance(value, SavedOffset):
            slots.append(StackItem.VALUE)
            values.append("ignored")
        elif isinstance(value, SavedException) and i in copies(frame, saved):
            slots.append(StackItem.VALUE)
            values.append(value.previous)
        elif isinstance(value, SavedException):
            both = i + 1 < len(stack) and stack[i + 1] is handled[i]
            slots.append(StackItem.EXCEPTION if both else StackItem.HANDLED)
            values.append(handled[i])
            skip = i + 1 if both else -1
        else:
            slots.append(StackItem.VALUE)
            values.append(value)
    return slots, values


def copies(frame, saved):
    """Slots that are a second copy of a saved exception (COPY 3 before POP_EXCEPT)."""
    seen, found = set(), set()
    for i in saved:
        if id(frame.stack[i]) in seen:
            found.add(i)
        seen.add(id(frame.stack[i]))
    return found


def continuation(function, frame, index, raises=None):
    """A call that goes on from there: (function, arguments)."""
    # a copy of a saved slot would confuse which exception each level handles
    saved_stack = list(frame.stack)
    extra = copies(frame, [i for i, v in enumerate(saved_stack) if isinstance(v, SavedException)])
    previous = [saved_stack[i].previous for i in sorted(extra)]
    for i in extra:
        frame.stack[i] = previous.pop(0)
    slots, values = native_slots(frame, index)
    code = function.__code__
    own = set(code.co_cellvars)
    bound = tuple(name for name in code.co_varnames if name in frame.slots and not is_cell(frame, name, own))
    layout = ResumeLayout(tuple(slots), bound, raises is not None)
    key = (code, index, layout)
    made = _KNOWN.get(key)
    if made is None:
        made = _KNOWN[key] = resume_function(code, index, layout)
        assert verify(made) == []
    closure = [frame.free[name] for name in code.co_freevars]
    for name in code.co_cellvars:
        value = frame.slots.get(name)
        closure.append(value if isinstance(value, types.CellType) else types.CellType())
    resumed = types.FunctionType(made, function.__globals__, closure=tuple(closure))
    arguments = [*values, *(frame.slots[name] for name in bound), *([] if raises is None else [raises])]
    frame.slots.clear()
    return resumed, arguments


def is_cell(frame, name, own):
    return name in own and isinstance(frame.slots[name], types.CellType)


def outcome(call):
    try:
        return ("returned", plain(call()))
    except BaseException as error:
        return ("raised", chain(error))


def chain(error):
    if error is None:
        return None
    return (type(error), str(error), chain(error.__cause__), chain(error.__context__))


def plain(value):
    return repr(value) if not isinstance(value, types.FunctionType) else value.__name__


def drain(generator):
    """Run a generator that yields nothing."""
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it yields")


def interrupted(function, args, at):
    """Run `function` by the reference up to its step `at`, then natively."""
    frame = frame_of(function, args, {})
    steps = iter(range(at + 1))
    ended = drain(execute(frame, 0, lambda frame, index: next(steps, None) is None or index < 0))
    return ended, frame


def can_go_on(frame, index):
    """Inside the first instructions (cells not made yet) there is nothing to continue."""
    return all(
        op.kind not in (Kind.MAKE_CELL, Kind.RETURN_GENERATOR)
        for op in frame.reading.operations[index : index + 8]
        if op.instruction < 8
    ) and not in_prologue(frame, index)


def in_prologue(frame, index):
    first = next(
        i
        for i, op in enumerate(frame.reading.operations)
        if op.kind is Kind.NOP and op.instruction >= 0 and is_resume(frame, op)
    )
    return index <= first


def is_resume(frame, op):
    from framesmith.bytecode.disassemble import disassemble

    key = frame.code
    names = _KNOWN.get(key)
    if names is None:
        names = _KNOWN[key] = [one.name for one in disassemble(key).instructions]
    return names[op.instruction] == "RESUME"


def fresh(function):
    """The function with cells of its own, so that runs do not see each other."""
    closure = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_reference_interpreter_agrees_with_cpython(function, args):
    log, expected_log = [], []
    expected = outcome(lambda: fresh(function)(expected_log, *args))

    def run():
        ended = drain(execute(frame_of(fresh(function), (log, *args), {})))
        assert isinstance(ended, Returned)
        return ended.value

    assert outcome(run) == expected
    assert repr(log) == repr(expected_log)


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_going_on_natively_from_every_step_gives_the_same(function, args):
    expected_log = []
    expected = outcome(lambda: fresh(function)(expected_log, *args))
    points = 0
    for at in range(2000):
        log = []
        paused = {}

        def run():
            ended, frame = interrupted(fresh(function), (log, *args), at)
            paused["it"] = isinstance(ended, Paused)
            if isinstance(ended, Returned):
                return ended.value
            if in_prologue(frame, ended.index):
                paused["skip"] = True
                return None
            resumed, arguments = continuation(function, frame, ended.index)
            return resumed(*arguments)

        found = outcome(run)
        if paused.get("skip"):
            continue
        assert found == expected, at
        assert repr(log) == repr(expected_log), at
        if not paused.get("it"):
            break
        points += 1
    assert points > 3
    print("POINTS", points)


def drive(generator, actions, log):
    """Do `actions` to a generator; what comes of each."""
    found = []
    for action in actions:
        try:
            if isinstance(action, BaseException):
                found.append(("yielded", plain(generator.throw(again(action)))))
            elif action == "close":
                found.append(("closed", generator.close()))
            else:
                found.append(("yielded", plain(generator.send(action))))
        except StopIteration as stop:
            found.append(("returned", plain(stop.value)))
            break
        except BaseException as error:
            found.append(("raised", chain(error)))
            break
        log.append("driver")
    return found


def again(error):
    return type(error)(*error.args)


class Relay:
    """Behaves like the generator of `function`: run by the reference up to step `at`, then natively."""

    def __init__(self, function, args, at):
        self.function, self.notes = function, []
        self.frame = frame_of(fresh(function), args, {})
        steps = iter(range(at + 1))
        self.active = execute(self.frame, 0, lambda frame, index: next(steps, None) is None)

    def send(self, value):
        return self._advance(lambda: self.active.send(value))

    def throw(self, error):
        return self._advance(lambda: self.active.throw(error))

    def close(self):
        try:
            self.throw(GeneratorExit())
        except (GeneratorExit, StopIteration):
            return None
        raise RuntimeError("generator ignored GeneratorExit")

    def _advance(self, step):
        try:
            return step()
        except StopIteration as stop:
            ended = stop.value
        if isinstance(ended, Returned):
            self.notes.append("ended")
            raise StopIteration(ended.value)
        if not isinstance(ended, Paused):
            raise StopIteration(ended)
        if in_prologue(self.frame, ended.index):
            self.notes.append("skipped")
            raise StopIteration(None)
        kind = self.frame.reading.operations[ended.index].kind
        resumed, arguments = continuation(self.function, self.frame, ended.index)
        self.active = resumed(*arguments)
        self.notes.append("primed" if kind is Kind.YIELD else "switched")
        return next(self.active)


@pytest.mark.parametrize(("function", "actions"), GENERATORS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_generator_goes_on_from_every_step(function, actions):
    expected_log = []
    expected = drive(fresh(function)(expected_log), actions, expected_log)
    points = primes = 0
    for at in range(2000):
        log = []
        relay = Relay(function, (log,), at)
        notes = relay.notes
        found = drive(relay, actions, log)
        if notes == ["skipped"]:
            continue
        assert found == expected, at
        assert repr(log) == repr(expected_log), at
        if "switched" not in notes and "primed" not in notes:
            break
        points += 1
        primes += "primed" in notes
    assert points > 3
    assert primes


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_an_exception_can_be_raised_at_every_step(function, args):
    error = OSError("injected")
    for at in range(2000):
        log, expected_log = [], []
        notes = []

        def by_reference():
            ended, frame = interrupted(fresh(function), (expected_log, *args), at)
            if isinstance(ended, Returned):
                notes.append("ended")
                return None
            if in_prologue(frame, ended.index):
                notes.append("skipped")
                return None
            index = ended.index
            handler = frame.reading.handlers[index]
            if frame.reading.operations[index].kind not in RAISING:
                notes.append("skipped")
                return None
            if handler is None:
                raise OSError("injected")
            from bytecode_reference import _unwind

            return drain(execute(frame, _unwind(frame, index, OSError("injected")))).value

        def natively():
            ended, frame = interrupted(fresh(function), (log, *args), at)
            resumed, arguments = continuation(function, frame, ended.index, OSError("injected"))
            return resumed(*arguments)

        expected = outcome(by_reference)
        if notes == ["ended"]:
            break
        if notes == ["skipped"]:
            continue
        assert outcome(natively) == expected, at
        assert repr(log) == repr(expected_log), at


def divide(a, b):
    c = a + b
    return c // b


def index_of(function, kind, nth=0):
    return [i for i, one in enumerate(read(function.__code__).operations) if one.kind is kind][nth]


def resumed_function(function, index, stack=(), names=(), raises=False):
    code = resume_function(function.__code__, index, ResumeLayout(tuple(stack), tuple(names), raises))
    return types.FunctionType(code, function.__globals__)


def test_a_traceback_shows_the_users_function_and_line():
    resumed = resumed_function(
        divide, index_of(divide, Kind.BINARY, 1), [StackItem.VALUE, StackItem.VALUE], ["a", "b"]
    )
    with pytest.raises(ZeroDivisionError) as caught:
        resumed(1, 0, 1, 0)
    entry = traceback.extract_tb(caught.value.__traceback__)[-1]
    first = divide.__code__.co_firstlineno
    assert (entry.name, entry.lineno, entry.filename) == ("divide", first + 2, divide.__code__.co_filename)
    assert resumed.__code__.co_qualname == "divide" and resumed.__code__.co_firstlineno == first


def test_packed_arguments_are_taken_out_of_their_list():
    def function(a, b):
        return a // b, len(given)

    given = [7, 2, 7, 2]
    layout = ResumeLayout((StackItem.VALUE, StackItem.VALUE), ("a", "b"), packed=True)
    code = resume_function(function.__code__, index_of(function, Kind.BINARY), layout)
    assert verify(code) == [] and code.co_argcount == 1
    assert types.FunctionType(code, function.__globals__, closure=function.__closure__)(given) == (3, 0)


def test_arguments_for_the_stack_are_no_locals_afterwards():
    def function(f, a):
        return f(a, locals())

    index = index_of(function, Kind.LOAD_LOCAL, 1)
    depth = len(stack_of(function, index))
    resumed = resumed_function(function, index, stack_of(function, index), ["f", "a"])
    values = [lambda a, found: found] if depth == 2 else [lambda a, found: found]
    assert set(resumed(*values, None, 5)) == {"f", "a"}


def stack_of(function, index):
    """Slots before the argument of the only call: the callable and its NULL."""
    return [StackItem.NULL, StackItem.VALUE] if NULL_FIRST else [StackItem.VALUE, StackItem.NULL]


def test_the_callers_exception_is_current_again_afterwards():
    def function(log):
        try:
            raise KeyError("inner")
        except KeyError:
            log.append(current())
        log.append(current())

    index = index_of(function, Kind.LOAD_LOCAL)
    resumed = resumed_function(function, index, [StackItem.HANDLED], ["log"])
    log, error = [], KeyError("given")
    try:
        raise OSError("outer")
    except OSError:
        resumed(error, log)
    assert log == [("KeyError", "'given'"), ("OSError", "outer")]
    assert error.__context__ is None and error.__traceback__ is None


def test_wrong_layouts_are_refused_with_the_line():
    index = index_of(divide, Kind.BINARY)
    with pytest.raises(
        ResumeError, match=r"\(binary, line \d+\) of divide has 2 stack items, the layout gives 1"
    ):
        resume_function(divide.__code__, index, ResumeLayout((StackItem.VALUE,), ()))
    with pytest.raises(ResumeError, match="divide has no local named z"):
        resume_function(divide.__code__, index, ResumeLayout((StackItem.VALUE, StackItem.VALUE), ("z",)))
    with pytest.raises(ResumeError, match="no number 999"):
        resume_function(divide.__code__, 999, ResumeLayout((), ()))
    with pytest.raises(ResumeError, match="body of a class or a module"):
        resume_function(compile("x = 1", "m.py", "exec"), 1, ResumeLayout((), ()))


def test_a_place_before_the_start_is_refused():
    with pytest.raises(ResumeError, match="before its start"):
        resume_function(cells.__code__, 0, ResumeLayout((), ()))


def test_more_than_sixteen_slots_on_the_stack():
    source = "def f(" + ", ".join(f"a{i}" for i in range(20)) + "):\n    return g("
    source += ", ".join(f"a{i}" for i in range(20)) + ")\n"
    scope = {"g": lambda *values: values}
    exec(source, scope)
    function = scope["f"]
    index = index_of(function, Kind.CALL)
    slots = [StackItem.NULL, StackItem.VALUE] if NULL_FIRST else [StackItem.VALUE, StackItem.NULL]
    resumed = resumed_function(
        function, index, [*slots, *[StackItem.VALUE] * 20], function.__code__.co_varnames
    )
    assert resumed(scope["g"], *range(20), *range(20)) == tuple(range(20))


def test_a_coroutine_goes_on_between_two_awaits():
    async def function(wait, n):
        m = await wait(n)
        return m + await wait(m * 10)

    async def wait(n):
        await asyncio.sleep(0)
        return n + 1

    index = index_of(function, Kind.LOAD_LOCAL, 2)
    resumed = resumed_function(function, index, names=["wait", "m"])
    assert asyncio.run(resumed(wait, 5)) == 5 + 51


def test_a_debugger_may_look_at_the_locals_at_every_step():
    def function(log, n):
        x = 5
        inner = [[lambda: (x, z) for z in range(2)] for x in range(n)]
        return [f() for row in inner for f in row], (lambda: x)()

    def look(frame, event, argument):
        frame.f_trace_opcodes = True
        seen.append(dict(frame.f_locals))
        return look

    expected = function([], 2)
    for at in range(4, 400):
        ended, frame = interrupted(function, ([], 2), at)
        if isinstance(ended, Returned):
            break
        resumed, arguments = continuation(function, frame, ended.index)
        seen = []
        before = sys.gettrace()
        sys.settrace(look)
        try:
            assert resumed(*arguments) == expected
        finally:
            sys.settrace(before)
        assert seen


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695")
def test_the_scope_of_type_parameters_goes_on():
    """Its cell is named `.type_params`, as no variable of a program is."""
    namespace = {}
    exec("def outer():\n    class Box[T]:\n        size = 1\n    return Box", namespace)
    scope = next(one for one in namespace["outer"].__code__.co_consts if hasattr(one, "co_code"))
    reading = read(scope)
    index = next(i for i, one in enumerate(reading.operations) if one.kind == Kind.BUILD_TUPLE)
    before = [one.kind for one in reading.operations[:index]]
    assert before.count(Kind.STORE_LOCAL) == 1
    code = resume_function(scope, index, ResumeLayout((StackItem.VALUE,), ("T",)))
    closure = tuple(types.CellType() for _ in code.co_freevars)
    made = types.FunctionType(code, namespace, closure=closure)(TypeVar("T"), TypeVar("T"))
    assert made.size == 1 and made.__type_params__
