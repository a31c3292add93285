"""What an operation takes off the stack and what it gives, for falling through and for jumping.

The one table of it: depths are computed from it, and whoever writes an operation as source takes its operands by it.
Which operations an instruction is: `operation_tables`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, final

from framesmith.bytecode.operation import Kind, Operation

_FIXED: Final[dict[tuple[int, int], tuple[Kind, ...]]] = {
    (0, 0): (
        Kind.NOP,
        Kind.DELETE_LOCAL,
        Kind.MAKE_CELL,
        Kind.DELETE_CELL,
        Kind.DELETE_GLOBAL,
        Kind.DELETE_NAME,
        Kind.SETUP_ANNOTATIONS,
        Kind.JUMP,
        Kind.END_FOR,
    ),
    (0, 1): (
        Kind.PUSH_NULL,
        Kind.LOAD_CONST,
        Kind.LOAD_LOCAL,
        Kind.LOAD_LOCAL_AND_CLEAR,
        Kind.LOAD_CLOSURE,
        Kind.LOAD_CELL,
        Kind.LOAD_GLOBAL,
        Kind.LOAD_NAME,
        Kind.LOAD_LOCALS,
        Kind.LOAD_BUILD_CLASS,
        Kind.LOAD_COMMON_CONSTANT,
        Kind.RETURN_GENERATOR,
    ),
    (1, 0): (
        Kind.POP,
        Kind.STORE_LOCAL,
        Kind.STORE_CELL,
        Kind.STORE_GLOBAL,
        Kind.STORE_NAME,
        Kind.DELETE_ATTRIBUTE,
        Kind.POP_JUMP_IF,
        Kind.POP_JUMP_IF_NONE,
        Kind.JUMP_IF_OR_POP,
        Kind.RETURN,
        Kind.POP_EXCEPTION,
        Kind.RERAISE,
        Kind.IMPORT_STAR,
        Kind.PRINT_EXPR,
    ),
    (1, 1): (
        Kind.LOAD_FROM_DICT_OR_GLOBALS,
        Kind.LOAD_ATTRIBUTE,
        Kind.UNARY,
        Kind.TO_BOOL,
        Kind.LIST_TO_TUPLE,
        Kind.CONVERT_VALUE,
        Kind.GET_ITER,
        Kind.YIELD,
        Kind.GET_YIELD_FROM_ITER,
        Kind.GET_AWAITABLE,
        Kind.GET_AITER,
    ),
    (1, 2): (
        Kind.LOAD_METHOD,
        Kind.LOAD_SPECIAL,
        Kind.GET_ANEXT,
        Kind.BEFORE_ASYNC_WITH,
        Kind.PUSH_EXCEPTION,
        Kind.BEFORE_WITH,
        Kind.IMPORT_FROM,
        Kind.MATCH_MAPPING,
        Kind.MATCH_SEQUENCE,
        Kind.GET_LEN,
    ),
    (2, 0): (Kind.STORE_ATTRIBUTE, Kind.DELETE_SUBSCRIPT, Kind.END_ASYNC_FOR),
    (2, 1): (
        Kind.BINARY,
        Kind.COMPARE,
        Kind.IS,
        Kind.CONTAINS,
        Kind.SUBSCRIPT,
        Kind.SET_FUNCTION_ATTRIBUTE,
        Kind.BUILD_TEMPLATE,
        Kind.PREPARE_RERAISE_STAR,
        Kind.IMPORT_NAME,
    ),
    (2, 2): (Kind.CHECK_EXCEPTION_MATCH, Kind.CHECK_GROUP_MATCH),
    (2, 3): (Kind.MATCH_KEYS,),
    (3, 0): (Kind.STORE_SUBSCRIPT,),
    (3, 1): (Kind.BINARY_SLICE, Kind.MATCH_CLASS),
    (4, 0): (Kind.STORE_SLICE,),
}
"""(slots taken, slots given) -> the operations with just that effect."""

_TWO_ARGUMENT_INTRINSICS: Final = frozenset(
    # PREP_RERAISE_STAR takes two as well, but is read as an operation of its own.
    {"TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_FUNCTION_TYPE_PARAMS", "SET_TYPEPARAM_DEFAULT"}
)


def _count(argument: object) -> int:
    assert isinstance(argument, int)
    return argument


def _member(argument: object, index: int) -> int:
    assert isinstance(argument, tuple)
    return int(argument[index])


@final
@dataclass(frozen=True, slots=True)
class StackEffect:
    """The slots that operations of one kind take off the top and give back, each by their argument.

    A slot that is only read counts as taken and given; so does all above the container to which LIST_APPEND appends.
    """

    takes: Callable[[object], int]
    gives: Callable[[object], int] = lambda _: 1


def _below(taken: int) -> StackEffect:
    """The effect of LIST_APPEND and the like: the `taken` topmost slots are consumed, and the container is the `n`-th slot
    below them (`n` is the argument). It and what lies above it stay, which counts as taken and given back."""
    return StackEffect(lambda n: _count(n) + taken, _count)


def _fixed(takes: int, gives: int) -> StackEffect:
    return StackEffect(lambda _: takes, lambda _: gives)


_BUILD: Final = StackEffect(_count)
_EFFECTS: Final[dict[Kind, StackEffect]] = {
    **{kind: _fixed(*slots) for slots, kinds in _FIXED.items() for kind in kinds},
    Kind.COPY: StackEffect(_count, lambda n: _count(n) + 1),
    Kind.SWAP: StackEffect(_count, _count),
    Kind.LOAD_CLASS_CELL: StackEffect(lambda argument: _member(argument, 1)),
    Kind.LOAD_SUPER_ATTRIBUTE: StackEffect(lambda _: 3, lambda argument: 1 + _member(argument, 1)),
    Kind.BUILD_SLICE: _BUILD,
    Kind.BUILD_TUPLE: _BUILD,
    Kind.BUILD_LIST: _BUILD,
    Kind.BUILD_SET: _BUILD,
    Kind.BUILD_MAP: StackEffect(lambda n: 2 * _count(n)),
    Kind.BUILD_CONST_KEY_MAP: StackEffect(lambda n: 1 + _count(n)),
    Kind.BUILD_STRING: _BUILD,
    **dict.fromkeys((Kind.LIST_APPEND, Kind.SET_ADD, Kind.LIST_EXTEND, Kind.SET_UPDATE), _below(1)),
    **dict.fromkeys((Kind.DICT_UPDATE, Kind.DICT_MERGE), _below(1)),
    Kind.MAP_ADD: _below(2),
    Kind.FORMAT_VALUE: StackEffect(lambda argument: 1 + bool(_member(argument, 1))),
    Kind.UNPACK_SEQUENCE: StackEffect(lambda _: 1, _count),
    Kind.UNPACK_EX: StackEffect(lambda _: 1, lambda shape: 1 + _member(shape, 0) + _member(shape, 1)),
    Kind.CALL: StackEffect(lambda shape: 2 + _member(shape, 0)),
    Kind.CALL_NAMES_ON_STACK: StackEffect(lambda n: 3 + _count(n)),
    Kind.CALL_EXTENDED: StackEffect(lambda has_kwargs: 4 if has_kwargs else 3),
    Kind.INTRINSIC: StackEffect(lambda name: 2 if name in _TWO_ARGUMENT_INTRINSICS else 1),
    Kind.MAKE_FUNCTION: StackEffect(lambda flags: 1 + _count(flags).bit_count()),
    Kind.RAISE: StackEffect(_count, lambda _: 0),
    Kind.BUILD_INTERPOLATION: StackEffect(lambda argument: 2 + bool(_member(argument, 1))),
    Kind.WITH_EXCEPT_START: StackEffect(_count, lambda place: _count(place) + 1),
    # the slots of an iterator or receiver, which may be two (3.15)
    Kind.FOR_ITER: StackEffect(_count, lambda slots: _count(slots) + 1),
    # 0 slots stay (3.11), but until the jump is taken the receiver is there: one slot.
    Kind.SEND: StackEffect(lambda slots: 1 + max(_count(slots), 1), lambda slots: 1 + max(_count(slots), 1)),
    Kind.END_SEND: StackEffect(lambda slots: 1 + _count(slots)),
    Kind.CLEANUP_THROW: StackEffect(lambda slots: 2 + _count(slots), lambda slots: 1 + _count(slots)),
}

# What is given when the jump is taken: FOR_ITER drops the iterator; JUMP_IF_OR_POP keeps the value;
# SEND drops the receiver where no slot of it stays.
_JUMPING: Final[dict[Kind, Callable[[object], int]]] = {
    Kind.FOR_ITER: lambda _: 0,
    Kind.JUMP_IF_OR_POP: lambda _: 1,
    Kind.SEND: lambda slots: 1 + _count(slots),
}


def slots_taken(operation: Operation) -> int:
    """How many slots of the stack, from the top, are the operands of `operation`."""
    return _EFFECTS[operation.kind].takes(operation.argument)


def slots_needed(steps: Iterable[tuple[Kind, object]]) -> int:
    """How deep the stack has to be for these operations, one after the other."""
    needed = gained = 0
    for kind, argument in steps:
        found = _EFFECTS[kind]
        taken = found.takes(argument)
        # with an argument it reads, below the exception, where to go on
        below = argument if kind is Kind.RERAISE and isinstance(argument, int) else 0
        needed = max(needed, taken + below - gained)
        gained += found.gives(argument) - taken
    return needed


def effect(operation: Operation, jump: bool = False) -> int:
    """Change of depth made by `operation`; `jump` when it goes to its target."""
    found = _EFFECTS[operation.kind]
    gives = _JUMPING.get(operation.kind, found.gives) if jump else found.gives
    return gives(operation.argument) - found.takes(operation.argument)
