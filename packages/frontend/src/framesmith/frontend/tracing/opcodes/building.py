"""Building and filling containers, strings and formatted values; unpacking.

The trackers of containers are in `variables.builtin_types`.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn, TypeVar

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.stack import count_argument
from framesmith.frontend.tracing.opcodes.table import RESULT, Bind, NativeForm, OpcodeRows, Outcome
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import OPERATION_RAISES, UNSUPPORTED_VALUE
from framesmith.guards.class_lookup import class_name, defines, is_one_of
from framesmith.guards.names import PREFIX
from framesmith.variables.builtin_types.dict_order import copies_items
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.sets import SetTracker, find_set_part
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.deferred_text import format_or_defer, join_or_defer
from framesmith.variables.core import Constant, Tracker, fold, raise_observed
from framesmith.variables.core.base import TraceContext, run_pending
from framesmith.variables.core.table import row_of

ROWS: Final = OpcodeRows()

T = TypeVar("T", bound=Tracker)


@ROWS.opcode(Kind.BUILD_TUPLE)
def build_tuple(machine: Machine, operation: Operation) -> None:
    """`(a, b)`."""
    machine.frame.push(TupleTracker(machine.frame.pop_many(count_argument(operation))))


@ROWS.opcode(Kind.BUILD_LIST)
def build_list(machine: Machine, operation: Operation) -> None:
    """`[a, b]`."""
    machine.frame.push(ListTracker(machine.frame.pop_many(count_argument(operation))))


@ROWS.opcode(Kind.BUILD_SET)
def build_set(machine: Machine, operation: Operation) -> None:
    """`{a, b}`."""
    values = machine.frame.pop_many(count_argument(operation))
    result = SetTracker()
    for value in values:
        call_method(machine, set.add, result, value)
    machine.frame.push(result)


@ROWS.opcode(Kind.BUILD_MAP)
def build_map(machine: Machine, operation: Operation) -> None:
    """`{k: v}`."""
    flat = machine.frame.pop_many(2 * count_argument(operation))
    store_pairs(machine, zip(flat[::2], flat[1::2], strict=True))


@ROWS.opcode(Kind.BUILD_CONST_KEY_MAP)
def build_const_key_map(machine: Machine, operation: Operation) -> None:
    """`{"a": x}` with the keys in one constant tuple."""
    keys = machine.frame.pop()
    values = machine.frame.pop_many(count_argument(operation))
    store_pairs(machine, zip(unpack(machine.tx, keys), values, strict=True))


def store_pairs(machine: Machine, pairs: "zip[tuple[Tracker, Tracker]]") -> None:
    """Push a new dict with these items, stored in order."""
    result = make_dict_tracker([])
    for key, value in pairs:
        result.store(machine.tx, key.realize(), value)
    machine.frame.push(result)


@ROWS.opcode(Kind.LIST_APPEND)
def list_append(machine: Machine, operation: Operation) -> None:
    """Append in a comprehension."""
    value = machine.frame.pop()
    target = find_container(machine, operation, ListTracker)
    target.append(machine.tx, value)


@ROWS.opcode(Kind.SET_ADD)
def set_add(machine: Machine, operation: Operation) -> None:
    """Add in a comprehension."""
    value = machine.frame.pop()
    call_method(machine, set.add, find_container(machine, operation, SetTracker), value)


@ROWS.opcode(Kind.MAP_ADD)
def map_add(machine: Machine, operation: Operation) -> None:
    """Store in a comprehension."""
    key, value = machine.frame.pop_many(2)
    find_container(machine, operation, DictTracker).store(machine.tx, key.realize(), value)


@ROWS.opcode(Kind.LIST_EXTEND)
def list_extend(machine: Machine, operation: Operation) -> None:
    """`[*a]`; CPython words the error of what cannot be iterated itself."""
    iterable = machine.frame.pop().realize()
    cls = iterable.python_type
    if not defines(cls, "__iter__") and not defines(cls, "__getitem__"):
        raise_observed(machine.tx, TypeError, f"Value after * must be an iterable, not {class_name(cls)}")
    values = unpack(machine.tx, iterable, asks=True)
    target = find_container(machine, operation, ListTracker)
    for value in values:
        target.append(machine.tx, value)


@ROWS.opcode(Kind.SET_UPDATE)
def set_update(machine: Machine, operation: Operation) -> None:
    """`{*a}`; for a set or dict, CPython resizes it beforehand, which shows in the order."""
    given = machine.frame.pop().realize()
    if given.python_type is dict or find_set_part(machine.tx, given) is not None:
        call_method(machine, set.update, find_container(machine, operation, SetTracker), given)
        return
    for value in unpack(machine.tx, given):
        call_method(machine, set.add, find_container(machine, operation, SetTracker), value)


@ROWS.opcode(Kind.DICT_UPDATE)
def dict_update(machine: Machine, operation: Operation) -> None:
    """`{**a}`."""
    source = machine.frame.pop()
    target = find_container(machine, operation, DictTracker)
    for key, value in mapping_items(machine, source):
        target.store(machine.tx, key, value)


@ROWS.opcode(Kind.DICT_MERGE)
def dict_merge(machine: Machine, operation: Operation) -> None:
    """`f(**a, **b)`: a key given twice is left to eager's own TypeError."""
    source = machine.frame.pop()
    target = find_container(machine, operation, DictTracker)
    # before anything is stored: the operation runs natively then, on the dict as it is, and words the error
    present = {key.hash_key(machine.tx) for key, _ in target.items(machine.tx)}
    pairs = mapping_items(machine, source)
    if any(key.hash_key(machine.tx) in present for key, _ in pairs):
        raise GraphBreak(OPERATION_RAISES, "the same keyword argument is given twice")
    for key, value in pairs:
        target.store(machine.tx, key, value)


def mapping_items(machine: Machine, source: Tracker) -> list[tuple[Tracker, Tracker]]:
    """The items of `**source`: a dict directly, any other mapping through `keys()` and `[]`."""
    source = source.realize()
    if issubclass(source.python_type, dict) and copies_items(source.python_type):
        source = source.builtin_part_or_self(machine.tx)
    if isinstance(source, DictTracker):
        return [(key.realize(), value) for key, value in source.items(machine.tx)]
    if not defines(source.python_type, "keys"):
        raise GraphBreak(OPERATION_RAISES, f"unpacking {source.describe()} as a mapping")
    tx = machine.tx
    keys = unpack(tx, source.attribute(tx, "keys").call(tx, (), {}))
    return [(key.realize(), source.subscript(tx, key.realize())) for key in keys]


def find_container(machine: Machine, operation: Operation, cls: type[T]) -> T:
    """The container that the operation fills, some slots below the top; GraphBreak if it is not of this kind."""
    target = machine.frame.stack[-count_argument(operation)].realize()
    if not isinstance(target, cls):
        raise GraphBreak(UNSUPPORTED_VALUE, f"filling {target.describe()}")
    return target


def call_method(machine: Machine, descriptor: object, *operands: Tracker) -> Tracker:
    """Call the row of a builtin method."""
    row = row_of(machine.tx.registry, descriptor)
    assert row is not None, descriptor
    return run_pending(machine.tx, row.begin(machine.tx, operands, {}))


@ROWS.opcode(Kind.LIST_TO_TUPLE)
def list_to_tuple(machine: Machine, operation: Operation) -> None:
    """`(*a, b)` ends as a tuple."""
    machine.frame.push(TupleTracker(unpack(machine.tx, machine.frame.pop())))


@ROWS.opcode(Kind.BUILD_STRING)
def build_string(machine: Machine, operation: Operation) -> None:
    """An f-string from its parts."""
    parts = machine.frame.pop_many(count_argument(operation))

    def now() -> Tracker:
        return fold(machine.tx, lambda *texts: "".join(texts), parts)

    machine.frame.push(join_or_defer(machine.tx, parts, now))


@ROWS.opcode(Kind.FORMAT_VALUE)
def format_value(machine: Machine, operation: Operation) -> None:
    """One `{value!r:spec}` of an f-string."""
    assert isinstance(operation.argument, tuple)
    conversion, has_spec = operation.argument
    spec = machine.frame.pop().realize() if has_spec else Constant("")
    value = machine.frame.pop()
    if conversion:
        value = apply_conversion(machine, value, conversion)
    machine.frame.push(apply_format(machine, value, spec))


def apply_format(machine: Machine, value: Tracker, spec: Tracker) -> Tracker:
    """`format(value, spec)`."""
    row = row_of(machine.tx.registry, format)
    assert row is not None
    text = spec.as_python_constant() if isinstance(spec, Constant) else None
    begin = functools.partial(row.begin, machine.tx, (value, spec), {})
    if not isinstance(text, str):
        return run_pending(machine.tx, begin())
    return format_or_defer(machine.tx, format, value, text, lambda: run_pending(machine.tx, begin()))


@ROWS.opcode(Kind.CONVERT_VALUE)
def convert_value(machine: Machine, operation: Operation) -> None:
    """`!s`, `!r`, `!a` (3.13)."""
    assert isinstance(operation.argument, str)
    machine.frame.push(apply_conversion(machine, machine.frame.pop(), operation.argument))


CONVERSIONS: Mapping[str, Callable[[object], str]] = {"s": str, "r": repr, "a": ascii}


def apply_conversion(machine: Machine, value: Tracker, conversion: str) -> Tracker:
    """`str`, `repr` or `ascii` of a value."""
    function = CONVERSIONS[conversion]
    row = row_of(machine.tx.registry, function)
    assert row is not None
    begin = functools.partial(row.begin, machine.tx, (value,), {})
    return format_or_defer(machine.tx, function, value, "", lambda: run_pending(machine.tx, begin()))


@ROWS.opcode(Kind.UNPACK_SEQUENCE)
def unpack_sequence(machine: Machine, operation: Operation) -> None:
    """`a, b = x`."""
    wanted = count_argument(operation)
    iterable = machine.frame.pop().realize()
    if isinstance(iterable, ListTracker | TupleTracker):
        values = unpack(machine.tx, iterable)
    else:
        # one more than wanted, as CPython asks in order to see that there are too many
        values = take_items(machine, iterate_unpacked(machine, iterable), wanted + 1)
    if len(values) != wanted:
        raise_miscount(machine.tx, ["_"] * wanted, len(values), iterable)
    # the first target is stored first, so its value is on top
    machine.frame.stack.extend(reversed(values))


def raise_miscount(tx: TraceContext, targets: Sequence[str], got: int, unpacked: Tracker) -> NoReturn:
    """Raise CPython's ValueError for unpacking so many items into these targets. From 3.14 on its text has the
    number of items that a list, a tuple or a dict has too many."""
    items: object = [None] * got
    if isinstance(unpacked, DictTracker) and unpacked.python_type is dict:
        items = dict.fromkeys(range(unpacked.size(tx)))
    elif not is_one_of(unpacked.python_type, (list, tuple)):
        items = iter([None] * got)
    try:
        exec(f"[{', '.join(targets)}] = items", {"items": items})
    except ValueError as error:
        raise_observed(tx, ValueError, str(error))
    raise AssertionError(f"{got} items fit")


def iterate_unpacked(machine: Machine, iterable: Tracker) -> Tracker:
    """The iterator of what is unpacked."""
    cls = iterable.python_type
    if not defines(cls, "__iter__") and not defines(cls, "__getitem__"):
        raise_observed(machine.tx, TypeError, f"cannot unpack non-iterable {class_name(cls)} object")
    return iterable.iterate(machine.tx)


def take_items(machine: Machine, iterator: Tracker, most: int) -> list[Tracker]:
    """The next items of an iterator, at most `most`."""
    values: list[Tracker] = []
    while len(values) < most:
        value = iterator.advance(machine.tx)
        if value is None:
            break
        values.append(value)
    return values


@ROWS.opcode(Kind.UNPACK_EX)
def unpack_ex(machine: Machine, operation: Operation) -> None:
    """`a, *b, c = x`. After the first names, CPython makes a list of the iterator, which asks it for `iter()` again."""
    assert isinstance(operation.argument, tuple)
    before, after = operation.argument
    iterable = machine.frame.pop().realize()
    iterator = iterate_unpacked(machine, iterable)
    head = take_items(machine, iterator, before)
    rest = unpack(machine.tx, iterator, asks=True) if len(head) == before else []
    if len(head) < before or len(rest) < after:
        raise_miscount(machine.tx, [*["_"] * before, "*_", *["_"] * after], len(head) + len(rest), iterable)
    middle = ListTracker(rest[: len(rest) - after])
    tail = rest[len(rest) - after :] if after else []
    machine.frame.stack.extend(reversed([*head, middle, *tail]))


def _unpack_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    wanted = count_argument(operation)
    names = tuple(f"{PREFIX}u{i}" for i in range(wanted))
    # `[] = x` is an assignment to no targets, which still iterates
    target = ", ".join(names) + "," if names else "[]"
    return NativeForm((f"{target} = {operands[0]}",), (Outcome(tuple(reversed(names))),))


def _unpack_ex_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    assert isinstance(operation.argument, tuple)
    before, after = operation.argument
    names = [f"{PREFIX}u{i}" for i in range(before + 1 + after)]
    target = ", ".join(f"*{name}" if i == before else name for i, name in enumerate(names))
    return NativeForm((f"{target}, = {operands[0]}",), (Outcome(tuple(reversed(names))),))


def _format_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    assert isinstance(operation.argument, tuple)
    conversion, has_spec = operation.argument
    value = f"{bind(CONVERSIONS[conversion], conversion)}({operands[0]})" if conversion else operands[0]
    spec = operands[1] if has_spec else "''"
    return NativeForm.of(f"{bind(format, 'format')}({value}, {spec})")


def _join_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    parts = ", ".join(str(operand) for operand in operands)
    return NativeForm.of(f"''.join(({parts},))")


def _convert_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    assert isinstance(operation.argument, str)
    function = bind(CONVERSIONS[operation.argument], "convert")
    return NativeForm.of(f"{function}({operands[0]})")


def _container_form(open_: str, close: str) -> Callable[[Operation, list[str | None], Bind], NativeForm]:
    def write(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        # `{}` would be a dict, `{*()}` is an empty set
        text = ", ".join(str(operand) for operand in operands) or "*()"
        return NativeForm.of(f"{open_}{text}{close}")

    return write


def _map_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    pairs = ", ".join(f"{key}: {value}" for key, value in zip(operands[::2], operands[1::2], strict=True))
    return NativeForm.of(f"{{{pairs}}}")


def _extend_form(open_: str, close: str) -> Callable[[Operation, list[str | None], Bind], NativeForm]:
    """Add the items of an iterable to the display that is some slots below.

    It is put into a display of its own first, so that what is no iterable raises as in a display.
    """

    def write(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        *kept, iterable = [str(operand) for operand in operands]
        add = "extend" if open_ == "[*" else "update"
        statements = (f"{RESULT} = {open_}{iterable}{close}", f"{kept[0]}.{add}({RESULT})")
        return NativeForm(statements, (Outcome(tuple(kept)),))

    return write


def _add_form(template: str, taken: int) -> Callable[[Operation, list[str | None], Bind], NativeForm]:
    """Put one item into the set or dict of a comprehension."""

    def write(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        texts = [str(operand) for operand in operands]
        kept, given = texts[:-taken], texts[-taken:]
        return NativeForm((template.format(kept[0], *given),), (Outcome(tuple(kept)),))

    return write


ROWS.native(Kind.LIST_EXTEND, _extend_form("[*", "]"))
ROWS.native(Kind.SET_UPDATE, _extend_form("{*", "}"))
ROWS.native(Kind.DICT_UPDATE, _extend_form("{**", "}"))
ROWS.native(Kind.SET_ADD, _add_form("{}.add({})", 1))
ROWS.native(Kind.MAP_ADD, _add_form("{}[{}] = {}", 2))
ROWS.native(Kind.UNPACK_SEQUENCE, _unpack_form)
ROWS.native(Kind.UNPACK_EX, _unpack_ex_form)
ROWS.native(Kind.FORMAT_VALUE, _format_form)
ROWS.native(Kind.CONVERT_VALUE, _convert_form)
ROWS.native(Kind.BUILD_STRING, _join_form)
ROWS.native(Kind.BUILD_SET, _container_form("{", "}"))
ROWS.native(Kind.BUILD_MAP, _map_form)
