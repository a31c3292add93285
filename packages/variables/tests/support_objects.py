"""A small inliner for the tests of objects: enough operations for plain functions, exceptions included.

`check(function, make)` runs a function for real and traced, and compares results, exceptions and changed arguments.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from framesmith.bytecode.meaning import NULL_FIRST, Kind, Reading, read
from framesmith.guards import GuardSet, Scope, first_failure
from framesmith.guards.sources import Local, Pinned
from framesmith.variables import catalog, core
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.nested_functions import NestedFunction
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import NULL, Constant
from framesmith.variables.core.mutation_log import MutationLog
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.objects.exceptions import (
    exception_matches,
    make_raised_exception,
    set_cause,
    set_context,
)
from framesmith.variables.objects.super_objects import make_super
from framesmith.variables.operations.binary import binary, inplace
from framesmith.variables.operations.compare import compare
from framesmith.variables.operations.truth import truth_of
from framesmith.variables.wrapping.wrap import Wrapper

_readings: dict[types.CodeType, Reading] = {}


def reading(code):
    if code not in _readings:
        _readings[code] = read(code)
    return _readings[code]


class Frame:
    """One symbolic frame that is run to its end."""

    def __init__(self, tx: TraceContext, pending: PendingCall) -> None:
        self.tx = tx
        self.pending = pending
        self.locals: dict[str, Tracker] = dict(pending.arguments)
        self.cells = dict(zip(pending.code.co_freevars, pending.closure, strict=True))
        self.stack: list[Any] = []
        self.handled: list[Tracker] = []

    def run(self) -> Tracker:
        program = reading(self.pending.code)
        index = 0
        while True:
            operation = program.operations[index]
            try:
                outcome = getattr(self, f"op_{operation.kind.value}")(operation)
            except ObservedException as error:
                if not error.chained:
                    set_context(self.tx, error.exception, self.handled[-1] if self.handled else None)
                    error.chained = True
                handler = program.handlers[index]
                if handler is None:
                    raise
                del self.stack[handler.depth :]
                if handler.push_lasti:
                    self.stack.append(Constant(index))
                self.stack.append(error.exception)
                index = handler.target
                continue
            if isinstance(outcome, tuple):
                value = outcome[0]
                replacement = self.pending.replacement
                return value if replacement is None else replacement
            index = operation.target if outcome is True else index + 1

    def pop(self, n=None):
        if n is None:
            return self.stack.pop()
        if n == 0:
            return []
        items = self.stack[-n:]
        del self.stack[-n:]
        return items

    def push(self, value):
        self.stack.append(value)

    def op_nop(self, o): ...
    def op_pop(self, o):
        self.pop()

    def op_copy(self, o):
        self.push(self.stack[-o.argument])

    def op_swap(self, o):
        self.stack[-1], self.stack[-o.argument] = self.stack[-o.argument], self.stack[-1]

    def op_push_null(self, o):
        self.push(NULL)

    def op_load_const(self, o):
        value = o.argument
        self.push(core.from_python(self.tx, value) if type(value) in (tuple, frozenset) else Constant(value))

    def op_load_local(self, o):
        if o.argument not in self.locals:
            raise_observed(self.tx, UnboundLocalError, o.argument)
        self.push(self.locals[o.argument])

    def op_store_local(self, o):
        self.locals[o.argument] = self.pop()

    def op_delete_local(self, o):
        del self.locals[o.argument]

    def op_load_local_and_clear(self, o):
        self.push(self.locals.pop(o.argument, NULL))

    def op_make_cell(self, o):
        self.cells[o.argument] = CellTracker(self.locals.pop(o.argument, None))

    def op_load_closure(self, o):
        self.push(self.cells[o.argument])

    def op_load_cell(self, o):
        self.push(self.cells[o.argument].contents)

    def op_store_cell(self, o):
        self.cells[o.argument].store(self.tx, self.pop())

    def op_load_global(self, o):
        self.push(self.pending.namespace.load(self.tx, o.argument))

    def op_load_assertion_error(self, o):
        self.push(self.tx.wrap(AssertionError, Pinned(AssertionError, "AssertionError")))

    def op_store_global(self, o):
        self.pending.namespace.store(self.tx, o.argument, self.pop())

    def op_load_attribute(self, o):
        self.push(run_pending(self.tx, self.pop().realize().begin_attribute(self.tx, o.argument)))

    def op_load_method(self, o):
        bound = run_pending(self.tx, self.pop().realize().begin_attribute(self.tx, o.argument))
        self.stack += [NULL, bound] if NULL_FIRST else [bound, NULL]

    def op_load_super_attribute(self, o):
        name, is_method, _ = o.argument
        _, cls, receiver = self.pop(3)
        bound = make_super(self.tx, cls, receiver).attribute(self.tx, name)
        self.stack += ([NULL, bound] if NULL_FIRST else [bound, NULL]) if is_method else [bound]

    def op_store_attribute(self, o):
        value, target = self.pop(2)
        target.realize().set_attribute(self.tx, o.argument, value)

    def op_delete_attribute(self, o):
        self.pop().realize().delete_attribute(self.tx, o.argument)

    def op_binary(self, o):
        left, right = self.pop(2)
        self.push((inplace if o.argument[1] else binary)(self.tx, o.argument[0], left, right))

    def op_unary(self, o):
        value = self.pop().realize()
        self.push(
            Constant(not truth_of(self.tx, value))
            if o.argument == "not"
            else value.unary(self.tx, o.argument)
        )

    def op_compare(self, o):
        left, right = self.pop(2)
        self.push(compare(self.tx, o.argument[0], left, right))

    def op_is(self, o):
        left, right = self.pop(2)
        self.push(Constant(left.realize().is_same(self.tx, right.realize()) != o.argument))

    def op_contains(self, o):
        item, container = self.pop(2)
        found = truth_of(self.tx, container.realize().contains(self.tx, item.realize()))
        self.push(Constant(found != o.argument))

    def op_to_bool(self, o):
        self.push(Constant(truth_of(self.tx, self.pop())))

    def op_subscript(self, o):
        container, key = self.pop(2)
        self.push(container.realize().subscript(self.tx, key.realize()))

    def op_store_subscript(self, o):
        value, container, key = self.pop(3)
        container.realize().set_subscript(self.tx, key.realize(), value)

    def op_delete_subscript(self, o):
        container, key = self.pop(2)
        container.realize().delete_subscript(self.tx, key.realize())

    def op_build_tuple(self, o):
        self.push(TupleTracker(self.pop(o.argument)))

    def op_build_list(self, o):
        self.push(ListTracker(self.pop(o.argument)))

    def op_build_map(self, o):
        items = self.pop(2 * o.argument)
        made = make_dict_tracker([])
        for key, value in zip(items[::2], items[1::2], strict=True):
            made.store(self.tx, key, value)
        self.push(made)

    def op_build_const_key_map(self, o):
        keys = self.pop()
        self.push(make_dict_tracker(list(zip(unpack(self.tx, keys), self.pop(o.argument), strict=True))))

    def op_build_string(self, o):
        self.push(Constant("".join(str(part.as_python_constant()) for part in self.pop(o.argument))))

    def op_format_value(self, o):
        conversion, has_spec = o.argument
        spec = self.pop() if has_spec else Constant("")
        value = self.pop().realize()
        function = {"": str, "s": str, "r": repr, "a": ascii}[conversion]
        self.push(core.row_of(self.tx.registry, function).begin(self.tx, [value], {}))

    def op_convert_value(self, o):
        function = {"s": str, "r": repr, "a": ascii}[o.argument]
        self.push(core.row_of(self.tx.registry, function).begin(self.tx, [self.pop().realize()], {}))

    def op_list_append(self, o):
        value = self.pop()
        self.stack[-o.argument].items.append(value)

    def op_list_extend(self, o):
        value = self.pop()
        self.stack[-o.argument].extend(self.tx, value)

    def op_dict_merge(self, o):
        value = self.pop()
        for key, item in value.realize().builtin_part_or_self(self.tx).items(self.tx):
            self.stack[-o.argument].store(self.tx, key, item)

    op_dict_update = op_dict_merge

    def op_list_to_tuple(self, o):
        self.push(TupleTracker(self.pop().items))

    def op_unpack_sequence(self, o):
        self.stack += reversed(unpack(self.tx, self.pop().realize()))

    def op_call(self, o):
        argc, names = o.argument
        args = self.pop(argc)
        first, second = self.pop(2)
        callee, extra = (second, None) if first is NULL else (first, None if second is NULL else second)
        split = len(args) - len(names)
        positional = ([] if extra is None else [extra]) + args[:split]
        self.invoke(callee, positional, dict(zip(names, args[split:], strict=True)))

    def op_call_names_on_stack(self, o):
        names = [item.as_python_constant() for item in unpack(self.tx, self.pop())]
        o = types.SimpleNamespace(argument=(o.argument, names))
        self.op_call(o)

    def op_call_extended(self, o):
        keywords = {}
        given = self.pop() if o.argument else NULL  # NULL is on the stack since 3.14
        if given is not NULL:
            pairs = given.realize().builtin_part_or_self(self.tx).items(self.tx)
            keywords = {key.as_python_constant(): value for key, value in pairs}
        args = unpack(self.tx, self.pop().realize())
        first, second = self.pop(2)
        self.invoke(second if first is NULL else first, args, keywords)

    def invoke(self, callee, args, kwargs):
        callee = callee.realize()
        if getattr(callee, "value", None) is super and not args:
            first = self.pending.code.co_varnames[0]
            receiver = self.locals[first] if first in self.locals else self.cells[first].contents
            self.push(make_super(self.tx, self.cells["__class__"].contents, receiver))
            return
        self.tx.changes.called = callee
        try:
            begun = callee.begin_call(self.tx, args, kwargs)
        finally:
            self.tx.changes.called = None
        self.push(run_pending(self.tx, begun))

    def op_make_function(self, o):
        code = self.pop().as_python_constant()
        closure = tuple(self.pop().items) if o.argument & 8 else ()
        annotations = self.pop() if o.argument & 4 else None
        keyword_defaults = self.pop() if o.argument & 2 else None
        defaults = tuple(unpack(self.tx, self.pop())) if o.argument & 1 else ()
        self.push(NestedFunction(code, self.pending.namespace, defaults=defaults, closure=closure))

    def op_set_function_attribute(self, o):
        value, function = self.pop(2)
        if o.argument == 8:
            function.closure = tuple(value.items)
        elif o.argument == 1:
            function.defaults = tuple(unpack(self.tx, value))
        self.push(function)

    def op_jump(self, o):
        return True

    def op_pop_jump_if(self, o):
        return truth_of(self.tx, self.pop()) == o.argument

    def op_pop_jump_if_none(self, o):
        value = self.pop().realize()
        return (isinstance(value, Constant) and value.value is None) == o.argument

    def op_jump_if_or_pop(self, o):
        if truth_of(self.tx, self.stack[-1]) == o.argument:
            return True
        self.pop()

    def op_get_iter(self, o):
        self.push(self.pop().realize().iterate(self.tx))

    def op_for_iter(self, o):
        value = self.stack[-o.argument].advance(self.tx)
        if value is None:
            self.pop(o.argument)
            return True
        self.push(value)

    def op_end_for(self, o): ...
    def op_return(self, o):
        return (self.pop(),)

    def op_push_exception(self, o):
        error = self.pop()
        self.push(self.handled[-1] if self.handled else Constant(None))
        self.push(error)
        self.handled.append(error)

    def op_pop_exception(self, o):
        self.pop()
        self.handled.pop()

    def op_check_exception_match(self, o):
        expected = self.pop()
        self.push(Constant(exception_matches(self.tx, self.stack[-1], expected)))

    def op_reraise(self, o):
        raise ObservedException(self.pop())

    def op_raise(self, o):
        if o.argument == 0:
            raise ObservedException(self.handled[-1])
        operands = self.pop(o.argument)
        error = make_raised_exception(self.tx, operands[0])
        if o.argument == 2:
            set_cause(self.tx, error, operands[1])
        set_context(self.tx, error, self.handled[-1] if self.handled else None)
        raise ObservedException(error)

    def op_before_with(self, o):
        manager = self.pop().realize()
        self.push(manager.special_attribute(self.tx, "__exit__"))
        self.push(manager.special_attribute(self.tx, "__enter__").call(self.tx, (), {}))

    def op_load_special(self, o):
        self.stack += [self.pop().realize().special_attribute(self.tx, o.argument), NULL]

    def op_with_except_start(self, o):
        error = self.stack[-1]
        leave = self.stack[-o.argument]
        args = (
            self.tx.wrap(error.cls, Pinned(error.cls, "kind")),
            error,
            error.attribute(self.tx, "__traceback__"),
        )
        self.push(leave.call(self.tx, args, {}))


class Writer:
    """Collects statements; constants and loaded sources are bound by name."""

    def __init__(self, scope: Scope) -> None:
        self.registry = catalog.registry()
        self.scope = scope
        self.lines: list[str] = []
        self.names: dict[str, object] = {}
        self.built: dict[int, str] = {}
        self.keep: list[object] = []

    def fresh(self, hint: str) -> str:
        return (
            f"{hint.strip('_') or 'x'}_{len(self.names) + len(self.lines)}".replace(".", "_")
            .replace("<", "")
            .replace(">", "")
        )

    def load(self, source):
        return self.constant(source.read(self.scope), "loaded")

    def constant(self, value, hint):
        for name, known in self.names.items():
            if known is value:
                return name
        name = self.fresh(hint)
        self.names[name] = value
        return name

    def node(self, node):
        raise AssertionError("no graph here")

    def value(self, tracker):
        if getattr(tracker, "is_realized", False):
            tracker = tracker.realize()
        if id(tracker) in self.built:
            return self.built[id(tracker)]
        self.keep.append(tracker)
        if tracker.source is not None:
            text = self.load(tracker.source)
        else:
            text = tracker.reconstruct(self)
            if id(tracker) in self.built:
                return self.built[id(tracker)]
            return self.define(tracker, text, "value")
        self.built[id(tracker)] = text
        return text

    def define(self, tracker, expression, hint):
        name = self.fresh(hint)
        self.lines.append(f"{name} = {expression}")
        self.keep.append(tracker)
        self.built[id(tracker)] = name
        return name

    def statement(self, text):
        self.lines.append(text)


class NoGraph:
    """Numbers are constants here."""

    takes_floats = False
    has_changes = False
    asking = None

    def pause_recording(self):
        return contextlib.nullcontext()


class Trace:
    """A traced call of a function."""

    def __init__(self) -> None:
        self.wrapper = Wrapper()
        self.tx = TraceContext(
            NoGraph(), GuardSet(), MutationLog(), catalog.registry(), self.wrapper, self.inline
        )
        self.wrapper.attach(self.tx)

    def inline(self, pending: PendingCall) -> Tracker:
        try:
            return Frame(self.tx, pending).run()
        except ObservedException as error:
            if pending.otherwise is None or not issubclass(error.exception.python_type, StopIteration):
                raise
            return pending.otherwise

    def start(self, function, values: Mapping[str, object]):
        self.scope = Scope(dict(values), function.__globals__)
        operands = [self.tx.wrap(value, Local(name)) for name, value in values.items()]
        tracker = FunctionTracker(function, Pinned(function, "function"))
        self.outcome = tracker.call(self.tx, operands, {})
        return self.outcome

    def failing_guards(self):
        failure = first_failure(self.tx.guards, Scope(self.scope.locals, self.scope.globals))
        return [] if failure is None else [failure]

    def finish(self, outcome):
        writer = Writer(self.scope)
        for tracker in self.tx.changes.changed_trackers():
            tracker.replay(writer)
        result = writer.value(outcome) if outcome is not None else "None"
        self.text = "\n".join([*writer.lines, f"result = {result}"])
        namespace = dict(writer.names)
        exec(self.text, namespace)
        return namespace["result"]


def traced(function, values):
    """("value", result) or ("error", exception) of the traced call, with its changes replayed."""
    trace = Trace()
    try:
        kind, outcome = "value", trace.start(function, values)
    except ObservedException as error:
        kind, outcome = "error", error.exception
    failing = trace.failing_guards()
    assert failing == [], [failure.text for failure in failing]
    return kind, trace.finish(outcome)


def real(function, values):
    """The same of the real call."""
    try:
        return "value", function(*values)
    except Exception as error:
        return "error", error


def show(value, depth=0):
    """A value as comparable data: types, contents, attributes."""
    if depth > 6:
        return "..."
    again = functools.partial(show, depth=depth + 1)
    if isinstance(value, BaseException):
        chain = (again(value.__cause__), again(value.__context__), value.__suppress_context__)
        own = {k: again(v) for k, v in vars(value).items()}
        return (
            type(value),
            again(value.args),
            str(value) if not isinstance(value, AttributeError) else value.args,
            chain,
            own,
        )
    if isinstance(value, types.FunctionType | types.MethodType | type | types.ModuleType):
        return getattr(value, "__qualname__", value)
    content = None
    if isinstance(value, dict):
        content = [(again(k), again(v)) for k, v in dict.items(value)]
    elif isinstance(value, list | tuple):
        content = (
            [again(v) for v in type(value).__mro__[-2].__iter__(value)]
            if type(value) not in (list, tuple)
            else [again(v) for v in value]
        )
    elif isinstance(value, set | frozenset):
        content = sorted(map(repr, value))
    elif isinstance(value, int | str | float | bytes | None):
        content = value
    own = {}
    if hasattr(value, "__dict__"):
        own = [(k, again(v)) for k, v in object.__getattribute__(value, "__dict__").items()]
    slots = {}
    for base in type(value).__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name in base.__dict__ and isinstance(base.__dict__[name], types.MemberDescriptorType):
                try:
                    slots[name] = again(base.__dict__[name].__get__(value))
                except AttributeError:
                    pass
    return (type(value), content, own, slots)


def check(function: Callable[..., object], make: Callable[[], tuple[object, ...]] = tuple) -> Any:
    """Real and traced calls agree; gives the traced result."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    real_values, values = make(), make()
    expected = real(function, real_values)
    actual = traced(function, dict(zip(names, values, strict=True)))
    if expected[0] == "value" and actual[0] == "error":
        raise actual[1]
    got, wanted = (actual[0], show(actual[1])), (expected[0], show(expected[1]))
    assert got == wanted, f"traced {got}\n  real {wanted}"
    after, wanted_after = [show(value) for value in values], [show(value) for value in real_values]
    assert after == wanted_after, f"traced {after}\n  real {wanted_after}"
    return actual[1]


__all__ = ["Frame", "Kind", "Trace", "check", "traced"]
