"""What each operation does to a frame, one small function each, and the table of them.

A function takes the frame and the operation's argument and returns True where the jump is taken. YIELD and
RETURN leave the frame: they are in `bytecode_reference`.
"""

import builtins
import operator
import sys
from collections.abc import Callable, Mapping, MutableMapping
from types import CellType, CodeType, FunctionType
from typing import Any, Final, final

from framesmith.bytecode.meaning import NULL_FIRST, Kind, Reading

# Values of a running program have no type known here, hence the Any of this module.
Value = Any


@final
class _Null:
    """Stands for the NULL of CPython's stack."""

    def __repr__(self) -> str:
        return "NULL"


NULL: Final = _Null()


@final
class SavedException:
    """The stack item in which PUSH_EXCEPTION keeps what was handled before."""

    def __init__(self, previous: BaseException | None) -> None:
        self.previous = previous


@final
class SavedOffset:
    """The stack item in which the exception table keeps where the exception was raised."""

    def __init__(self, index: int) -> None:
        self.index = index


@final
class Frame:
    """State of a frame. `slots` holds locals and the frame's own cells, `free` the cells it was given."""

    def __init__(
        self,
        code: CodeType,
        reading: Reading,
        slots: dict[str, Value],
        free: Mapping[str, CellType],
        globals_: dict[str, Value],
        builtins_: Mapping[str, Value],
        namespace: MutableMapping[str, Value] | None = None,
    ) -> None:
        self.code = code
        self.reading = reading
        self.stack: list[Value] = []
        self.slots = slots
        self.free = free
        self.globals = globals_
        self.builtins = builtins_
        self.namespace = namespace
        self.handled: BaseException | None = None

    def push(self, value: Value) -> None:
        """Push one slot."""
        self.stack.append(value)

    def pop(self) -> Value:
        """Pop one slot."""
        return self.stack.pop()

    def pop_many(self, count: int) -> list[Value]:
        """Pop `count` slots, the lowest first."""
        if not count:
            return []
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def cell(self, name: str) -> CellType:
        """The cell of a cell or free variable."""
        return self.free[name] if name in self.free else self.slots[name]


Run = Callable[[Frame, Value], bool | None]
OPERATIONS: Final[dict[Kind, Run]] = {}


def _row(kind: Kind) -> Callable[[Run], Run]:
    def add(run: Run) -> Run:
        assert kind not in OPERATIONS, kind
        OPERATIONS[kind] = run
        return run

    return add


def _nothing(frame: Frame, argument: Value) -> None:
    return None


OPERATIONS.update(dict.fromkeys((Kind.NOP, Kind.END_FOR), _nothing))


def _function(kind: Kind, count: int, function: Callable[..., Value]) -> None:
    def run(frame: Frame, argument: Value) -> None:
        frame.push(function(*frame.pop_many(count)))

    _row(kind)(run)


_function(Kind.SUBSCRIPT, 2, operator.getitem)
_function(Kind.BINARY_SLICE, 3, lambda container, start, stop: container[start:stop])
_function(Kind.LIST_TO_TUPLE, 1, tuple)
_function(Kind.GET_ITER, 1, iter)
_function(Kind.GET_AITER, 1, aiter)
_function(Kind.TO_BOOL, 1, bool)


@_row(Kind.POP)
def _pop(frame: Frame, argument: Value) -> None:
    frame.pop()


@_row(Kind.COPY)
def _copy(frame: Frame, n: Value) -> None:
    frame.push(frame.stack[-n])


@_row(Kind.SWAP)
def _swap(frame: Frame, n: Value) -> None:
    stack = frame.stack
    stack[-1], stack[-n] = stack[-n], stack[-1]


@_row(Kind.PUSH_NULL)
def _push_null(frame: Frame, argument: Value) -> None:
    frame.push(NULL)


@_row(Kind.LOAD_CONST)
def _load_const(frame: Frame, value: Value) -> None:
    frame.push(value)


@_row(Kind.LOAD_LOCAL)
def _load_local(frame: Frame, name: Value) -> None:
    if name not in frame.slots:
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )
    frame.push(frame.slots[name])


@_row(Kind.STORE_LOCAL)
def _store_local(frame: Frame, name: Value) -> None:
    value = frame.pop()
    if value is NULL:
        frame.slots.pop(name, None)
    else:
        frame.slots[name] = value


@_row(Kind.DELETE_LOCAL)
def _delete_local(frame: Frame, name: Value) -> None:
    if name not in frame.slots:
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )
    del frame.slots[name]


@_row(Kind.LOAD_LOCAL_AND_CLEAR)
def _load_local_and_clear(frame: Frame, name: Value) -> None:
    frame.push(frame.slots.pop(name, NULL))


@_row(Kind.MAKE_CELL)
def _make_cell(frame: Frame, name: Value) -> None:
    frame.slots[name] = CellType(frame.slots[name]) if name in frame.slots else CellType()


@_row(Kind.LOAD_CLOSURE)
def _load_closure(frame: Frame, name: Value) -> None:
    frame.push(frame.cell(name))


@_row(Kind.LOAD_CELL)
def _load_cell(frame: Frame, name: Value) -> None:
    try:
        frame.push(frame.cell(name).cell_contents)
    except ValueError:
        if name in frame.free:
            message = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
            raise NameError(message) from None
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        ) from None


@_row(Kind.STORE_CELL)
def _store_cell(frame: Frame, name: Value) -> None:
    frame.cell(name).cell_contents = frame.pop()


@_row(Kind.DELETE_CELL)
def _delete_cell(frame: Frame, name: Value) -> None:
    del frame.cell(name).cell_contents


@_row(Kind.LOAD_GLOBAL)
def _load_global(frame: Frame, name: Value) -> None:
    for space in (frame.globals, frame.builtins):
        if name in space:
            frame.push(space[name])
            return
    raise NameError(f"name '{name}' is not defined")


@_row(Kind.STORE_GLOBAL)
def _store_global(frame: Frame, name: Value) -> None:
    frame.globals[name] = frame.pop()


@_row(Kind.DELETE_GLOBAL)
def _delete_global(frame: Frame, name: Value) -> None:
    if name not in frame.globals:
        raise NameError(f"name '{name}' is not defined")
    del frame.globals[name]


@_row(Kind.LOAD_BUILD_CLASS)
def _load_build_class(frame: Frame, argument: Value) -> None:
    frame.push(builtins.__build_class__)


@_row(Kind.LOAD_COMMON_CONSTANT)
def _load_common_constant(frame: Frame, value: Value) -> None:
    frame.push(value)


@_row(Kind.LOAD_ATTRIBUTE)
def _load_attribute(frame: Frame, name: Value) -> None:
    frame.push(getattr(frame.pop(), name))


@_row(Kind.STORE_ATTRIBUTE)
def _store_attribute(frame: Frame, name: Value) -> None:
    value, target = frame.pop_many(2)
    setattr(target, name, value)


@_row(Kind.DELETE_ATTRIBUTE)
def _delete_attribute(frame: Frame, name: Value) -> None:
    delattr(frame.pop(), name)


def _push_callable(frame: Frame, value: Value) -> None:
    frame.stack.extend((NULL, value) if NULL_FIRST else (value, NULL))


@_row(Kind.LOAD_METHOD)
def _load_method(frame: Frame, name: Value) -> None:
    _push_callable(frame, getattr(frame.pop(), name))


@_row(Kind.LOAD_SUPER_ATTRIBUTE)
def _load_super_attribute(frame: Frame, argument: Value) -> None:
    name, is_method, _ = argument
    make, owner, instance = frame.pop_many(3)
    value = getattr(make(owner, instance), name)
    if is_method:
        _push_callable(frame, value)
    else:
        frame.push(value)


_BINARY: Final[dict[str, str]] = dict(
    zip(
        ["+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^"],
        [
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "matmul",
            "pow",
            "lshift",
            "rshift",
            "and",
            "or",
            "xor",
        ],
        strict=True,
    )
)
_FUNCTIONS: Final[dict[tuple[str, bool], Callable[[Value, Value], Value]]] = {
    (symbol, inplace): getattr(operator, f"__i{name}__" if inplace else f"__{name}__")
    for symbol, name in _BINARY.items()
    for inplace in (False, True)
}
_COMPARE: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
_UNARY: Final[dict[str, Callable[[Value], Value]]] = {
    "-": operator.neg,
    "~": operator.invert,
    "not": operator.not_,
    "+": operator.pos,
}


@_row(Kind.BINARY)
def _binary(frame: Frame, argument: Value) -> None:
    left, right = frame.pop_many(2)
    frame.push(_FUNCTIONS[argument](left, right))


@_row(Kind.UNARY)
def _unary(frame: Frame, symbol: Value) -> None:
    frame.push(_UNARY[symbol](frame.pop()))


@_row(Kind.COMPARE)
def _compare(frame: Frame, argument: Value) -> None:
    symbol, to_bool = argument
    left, right = frame.pop_many(2)
    value = _COMPARE[symbol](left, right)
    frame.push(bool(value) if to_bool else value)


@_row(Kind.IS)
def _is(frame: Frame, negate: Value) -> None:
    left, right = frame.pop_many(2)
    frame.push((left is right) != negate)


@_row(Kind.CONTAINS)
def _contains(frame: Frame, negate: Value) -> None:
    item, container = frame.pop_many(2)
    frame.push((item in container) != negate)


@_row(Kind.STORE_SUBSCRIPT)
def _store_subscript(frame: Frame, argument: Value) -> None:
    value, container, key = frame.pop_many(3)
    container[key] = value


@_row(Kind.DELETE_SUBSCRIPT)
def _delete_subscript(frame: Frame, argument: Value) -> None:
    container, key = frame.pop_many(2)
    del container[key]


@_row(Kind.STORE_SLICE)
def _store_slice(frame: Frame, argument: Value) -> None:
    value, container, start, stop = frame.pop_many(4)
    container[start:stop] = value


@_row(Kind.BUILD_SLICE)
def _build_slice(frame: Frame, n: Value) -> None:
    frame.push(slice(*frame.pop_many(n)))


@_row(Kind.BUILD_TUPLE)
def _build_tuple(frame: Frame, n: Value) -> None:
    frame.push(tuple(frame.pop_many(n)))


@_row(Kind.BUILD_LIST)
def _build_list(frame: Frame, n: Value) -> None:
    frame.push(frame.pop_many(n))


@_row(Kind.BUILD_SET)
def _build_set(frame: Frame, n: Value) -> None:
    frame.push(set(frame.pop_many(n)))


@_row(Kind.BUILD_MAP)
def _build_map(frame: Frame, n: Value) -> None:
    flat = frame.pop_many(2 * n)
    frame.push(dict(zip(flat[::2], flat[1::2], strict=True)))


@_row(Kind.BUILD_CONST_KEY_MAP)
def _build_const_key_map(frame: Frame, n: Value) -> None:
    keys = frame.pop()
    frame.push(dict(zip(keys, frame.pop_many(n), strict=True)))


@_row(Kind.BUILD_STRING)
def _build_string(frame: Frame, n: Value) -> None:
    frame.push("".join(frame.pop_many(n)))


if sys.version_info >= (3, 14):
    from string.templatelib import Interpolation, Template

    @_row(Kind.BUILD_TEMPLATE)
    def _build_template(frame: Frame, argument: Value) -> None:
        strings, interpolations = frame.pop_many(2)
        between = [one for pair in zip(strings, (*interpolations, ""), strict=True) for one in pair]
        frame.push(Template(*between))

    @_row(Kind.BUILD_INTERPOLATION)
    def _build_interpolation(frame: Frame, argument: Value) -> None:
        conversion, has_format = argument
        value, text, *written = frame.pop_many(2 + has_format)
        frame.push(Interpolation(value, text, conversion or None, *written))


def _into(kind: Kind, add: Callable[[Value, Value], object]) -> None:
    def run(frame: Frame, i: Value) -> None:
        value = frame.pop()
        add(frame.stack[-i], value)

    _row(kind)(run)


def _merge(target: Value, source: Value) -> None:
    repeated = set(target) & set(source)
    if repeated:
        raise TypeError(f"got multiple values for keyword argument '{repeated.pop()}'")
    target.update(source)


def _extend(target: Value, source: Value) -> None:
    if not hasattr(source, "__iter__") and not hasattr(source, "__getitem__"):
        raise TypeError(f"Value after * must be an iterable, not {type(source).__name__}")
    target.extend(source)


_into(Kind.LIST_APPEND, list.append)
_into(Kind.SET_ADD, set.add)
_into(Kind.LIST_EXTEND, _extend)
_into(Kind.SET_UPDATE, set.update)
_into(Kind.DICT_UPDATE, dict.update)
_into(Kind.DICT_MERGE, _merge)


@_row(Kind.MAP_ADD)
def _map_add(frame: Frame, i: Value) -> None:
    key, value = frame.pop_many(2)
    frame.stack[-i][key] = value


_CONVERT: Final[dict[str, Callable[[Value], Value]]] = {
    "": lambda value: value,
    "s": str,
    "r": repr,
    "a": ascii,
}


@_row(Kind.FORMAT_VALUE)
def _format_value(frame: Frame, argument: Value) -> None:
    conversion, has_spec = argument
    spec = frame.pop() if has_spec else ""
    frame.push(format(_CONVERT[conversion](frame.pop()), spec))


@_row(Kind.CONVERT_VALUE)
def _convert_value(frame: Frame, conversion: Value) -> None:
    frame.push(_CONVERT[conversion](frame.pop()))


@_row(Kind.UNPACK_SEQUENCE)
def _unpack_sequence(frame: Frame, n: Value) -> None:
    values = list(frame.pop())
    if len(values) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    if len(values) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(values)})")
    frame.stack.extend(reversed(values))


@_row(Kind.UNPACK_EX)
def _unpack_ex(frame: Frame, argument: Value) -> None:
    before, after = argument
    values = list(frame.pop())
    if len(values) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(values)})"
        )
    end = len(values) - after
    frame.stack.extend(reversed([*values[:before], values[before:end], *values[end:]]))


def _callable(frame: Frame) -> tuple[Value, list[Value]]:
    """Pop the two slots of a callable."""
    first, second = frame.pop_many(2)
    if NULL_FIRST:
        return (second, []) if first is NULL else (first, [second])
    return first, ([] if second is NULL else [second])


def _call(frame: Frame, argc: int, names: tuple[str, ...]) -> None:
    values = frame.pop_many(argc)
    function, own = _callable(frame)
    split = argc - len(names)
    frame.push(function(*own, *values[:split], **dict(zip(names, values[split:], strict=True))))


@_row(Kind.CALL)
def _call_row(frame: Frame, argument: Value) -> None:
    _call(frame, *argument)


@_row(Kind.CALL_NAMES_ON_STACK)
def _call_names_on_stack(frame: Frame, argc: Value) -> None:
    names = frame.pop()
    _call(frame, argc, names)


@_row(Kind.CALL_EXTENDED)
def _call_extended(frame: Frame, has_kwargs: Value) -> None:
    kwargs = frame.pop() if has_kwargs else NULL
    args = frame.pop()
    function, _ = _callable(frame)
    frame.push(function(*args, **({} if kwargs is NULL else kwargs)))


@_row(Kind.MAKE_FUNCTION)
def _make_function(frame: Frame, flags: Value) -> None:
    code: CodeType = frame.pop()
    # 3.13 gives a function its closure afterwards; until then it has cells of its own here.
    closure = frame.pop() if flags & 8 else tuple(CellType() for _ in code.co_freevars)
    function = FunctionType(code, frame.globals, closure=closure)
    for flag in (4, 2, 1):
        if flags & flag:
            _set_attribute(function, flag, frame.pop())
    frame.push(function)


def _set_attribute(function: FunctionType, flag: int, value: Value) -> None:
    if flag == 1:
        function.__defaults__ = value
    elif flag == 2:
        function.__kwdefaults__ = value
    else:
        pairs = zip(value[::2], value[1::2], strict=True) if isinstance(value, tuple) else value
        function.__annotations__ = dict(pairs)


@_row(Kind.SET_FUNCTION_ATTRIBUTE)
def _set_function_attribute(frame: Frame, flag: Value) -> None:
    value, function = frame.pop_many(2)
    if flag == 8:
        function = FunctionType(function.__code__, frame.globals, closure=value)
    else:
        _set_attribute(function, flag, value)
    frame.push(function)


@_row(Kind.JUMP)
def _jump(frame: Frame, argument: Value) -> bool:
    return True


@_row(Kind.POP_JUMP_IF)
def _pop_jump_if(frame: Frame, wanted: Value) -> bool:
    return bool(frame.pop()) is wanted


@_row(Kind.POP_JUMP_IF_NONE)
def _pop_jump_if_none(frame: Frame, wanted: Value) -> bool:
    return (frame.pop() is None) is wanted


@_row(Kind.JUMP_IF_OR_POP)
def _jump_if_or_pop(frame: Frame, wanted: Value) -> bool:
    if bool(frame.stack[-1]) is wanted:
        return True
    frame.pop()
    return False


@_row(Kind.FOR_ITER)
def _for_iter(frame: Frame, slots: Value) -> bool:
    try:
        frame.push(next(frame.stack[-slots]))
    except StopIteration:
        frame.pop_many(slots)
        return True
    return False


@_row(Kind.RETURN_GENERATOR)
def _return_generator(frame: Frame, argument: Value) -> None:
    frame.push(None)


@_row(Kind.GET_YIELD_FROM_ITER)
def _get_yield_from_iter(frame: Frame, argument: Value) -> None:
    frame.push(iter(frame.pop()))


@_row(Kind.SEND)
def _send(frame: Frame, slots: Value) -> bool:
    value, receiver = frame.pop(), frame.stack[-max(slots, 1)]
    try:
        frame.push(next(receiver) if value is None else receiver.send(value))
    except StopIteration as stop:
        if not slots:
            frame.pop()
        frame.push(stop.value)
        return True
    return False


@_row(Kind.END_SEND)
def _end_send(frame: Frame, slots: Value) -> None:
    del frame.stack[-1 - slots : -1]


@_row(Kind.CLEANUP_THROW)
def _cleanup_throw(frame: Frame, slots: Value) -> None:
    error = frame.pop_many(2 + slots)[-1]
    if not isinstance(error, StopIteration):
        raise error
    frame.stack.extend((None, *[NULL] * (slots - 1), error.value))


@_row(Kind.INTRINSIC)
def _intrinsic(frame: Frame, name: Value) -> None:
    if name == "STOPITERATION_ERROR":
        error = frame.pop()
        if isinstance(error, StopIteration):
            wrapped = RuntimeError("generator raised StopIteration")
            wrapped.__cause__ = wrapped.__context__ = error
            error = wrapped
        frame.push(error)
        return
    raise NotImplementedError(f"intrinsic {name}")


@_row(Kind.PUSH_EXCEPTION)
def _push_exception(frame: Frame, argument: Value) -> None:
    error = frame.pop()
    frame.stack.extend((SavedException(frame.handled), error))
    frame.handled = error


@_row(Kind.POP_EXCEPTION)
def _pop_exception(frame: Frame, argument: Value) -> None:
    frame.handled = frame.pop().previous


@_row(Kind.CHECK_EXCEPTION_MATCH)
def _check_exception_match(frame: Frame, argument: Value) -> None:
    kinds = frame.pop()
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    frame.push(isinstance(frame.stack[-1], kinds))


@_row(Kind.CHECK_GROUP_MATCH)
def _check_group_match(frame: Frame, argument: Value) -> None:
    error, kinds = frame.pop_many(2)
    match = rest = None
    if isinstance(error, kinds):
        match = error if isinstance(error, BaseExceptionGroup) else ExceptionGroup("", [error])
    elif isinstance(error, BaseExceptionGroup):
        match, rest = error.split(kinds)
    else:
        rest = error
    if match is not None:
        frame.handled = match
    frame.stack.extend((rest, match))


@_row(Kind.RERAISE)
def _reraise(frame: Frame, argument: Value) -> None:
    error = frame.pop()
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context


@_row(Kind.RAISE)
def _raise(frame: Frame, n: Value) -> None:
    if n == 0:
        if frame.handled is None:
            raise RuntimeError("No active exception to reraise")
        raise frame.handled
    error, *cause = frame.pop_many(n)
    if cause:
        raise error from cause[0]
    raise error


@_row(Kind.BEFORE_WITH)
def _before_with(frame: Frame, argument: Value) -> None:
    manager = frame.pop()
    kind = type(manager)
    if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
    leave = kind.__exit__.__get__(manager, kind)
    frame.stack.extend((leave, kind.__enter__(manager)))


@_row(Kind.LOAD_SPECIAL)
def _load_special(frame: Frame, name: Value) -> None:
    manager = frame.pop()
    kind = type(manager)
    if not hasattr(kind, name):
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
    _push_callable(frame, getattr(kind, name).__get__(manager, kind))


@_row(Kind.WITH_EXCEPT_START)
def _with_except_start(frame: Frame, place: Value) -> None:
    error, leave = frame.stack[-1], frame.stack[-place]
    own = [] if place == 4 or frame.stack[1 - place] is NULL else [frame.stack[1 - place]]
    frame.push(leave(*own, type(error), error, error.__traceback__))


@_row(Kind.IMPORT_NAME)
def _import_name(frame: Frame, name: Value) -> None:
    level, fromlist = frame.pop_many(2)
    frame.push(frame.builtins["__import__"](name, frame.globals, None, fromlist, level))


@_row(Kind.IMPORT_FROM)
def _import_from(frame: Frame, name: Value) -> None:
    try:
        frame.push(getattr(frame.stack[-1], name))
    except AttributeError as error:
        raise ImportError(f"cannot import name {name!r}") from error


@_row(Kind.MATCH_MAPPING)
def _match_mapping(frame: Frame, argument: Value) -> None:
    frame.push(isinstance(frame.stack[-1], Mapping))


@_row(Kind.MATCH_SEQUENCE)
def _match_sequence(frame: Frame, argument: Value) -> None:
    match frame.stack[-1]:
        case [*_]:
            frame.push(True)
        case _:
            frame.push(False)


@_row(Kind.MATCH_KEYS)
def _match_keys(frame: Frame, argument: Value) -> None:
    subject, keys = frame.stack[-2:]
    found = all(key in subject for key in keys)
    frame.push(tuple(subject[key] for key in keys) if found else None)


@_row(Kind.GET_LEN)
def _get_len(frame: Frame, argument: Value) -> None:
    frame.push(len(frame.stack[-1]))


@_row(Kind.MATCH_CLASS)
def _match_class(frame: Frame, n: Value) -> None:
    subject, kind, names = frame.pop_many(3)
    if not isinstance(subject, kind):
        frame.push(None)
        return
    own = n == 1 and kind in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)
    positions = () if own else getattr(kind, "__match_args__", ())
    wanted = (*positions[: 0 if own else n], *names)
    missing = object()
    values = tuple(getattr(subject, name, missing) for name in wanted)
    if any(value is missing for value in values):
        frame.push(None)
    else:
        frame.push((subject, *values) if own else values)


def _leaves(error: Value) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]


@_row(Kind.PREPARE_RERAISE_STAR)
def _prepare_reraise_star(frame: Frame, argument: Value) -> None:
    original, results = frame.pop_many(2)
    errors = [one for one in results if one is not None]
    if not errors or not isinstance(original, BaseExceptionGroup):
        frame.push(errors[0] if errors else None)
        return
    known = {id(leaf) for leaf in _leaves(original)}
    raised = [one for one in errors if not all(id(leaf) in known for leaf in _leaves(one))]
    again = {id(leaf) for one in errors for leaf in _leaves(one)}
    kept = original.subgroup(lambda leaf: id(leaf) in again and not isinstance(leaf, BaseExceptionGroup))
    if not raised:
        frame.push(kept)
    else:
        frame.push(BaseExceptionGroup("", [*raised, *([] if kept is None else [kept])]))
