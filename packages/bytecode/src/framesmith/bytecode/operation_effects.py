"""What an operation does to the depth of the stack, for falling through and for jumping."""

from collections.abc import Callable
from typing import Final

from framesmith.bytecode.operation import Kind, Operation

_CONSTANT: Final[dict[Kind, int]] = {
    **dict.fromkeys(
        (
            Kind.COPY,
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
            Kind.LOAD_SPECIAL,
            Kind.LOAD_METHOD,
            Kind.FOR_ITER,
            Kind.RETURN_GENERATOR,
            Kind.GET_ANEXT,
            Kind.BEFORE_WITH,
            Kind.BEFORE_ASYNC_WITH,
            Kind.PUSH_EXCEPTION,
            Kind.WITH_EXCEPT_START,
            Kind.IMPORT_FROM,
            Kind.MATCH_MAPPING,
            Kind.MATCH_SEQUENCE,
            Kind.MATCH_KEYS,
            Kind.GET_LEN,
        ),
        1,
    ),
    **dict.fromkeys(
        (
            Kind.POP,
            Kind.STORE_LOCAL,
            Kind.STORE_CELL,
            Kind.STORE_GLOBAL,
            Kind.STORE_NAME,
            Kind.DELETE_ATTRIBUTE,
            Kind.BINARY,
            Kind.COMPARE,
            Kind.IS,
            Kind.CONTAINS,
            Kind.SUBSCRIPT,
            Kind.LIST_APPEND,
            Kind.SET_ADD,
            Kind.LIST_EXTEND,
            Kind.SET_UPDATE,
            Kind.DICT_UPDATE,
            Kind.DICT_MERGE,
            Kind.POP_JUMP_IF,
            Kind.POP_JUMP_IF_NONE,
            Kind.JUMP_IF_OR_POP,
            Kind.RETURN,
            Kind.CLEANUP_THROW,
            Kind.POP_EXCEPTION,
            Kind.PREPARE_RERAISE_STAR,
            Kind.RERAISE,
            Kind.BUILD_TEMPLATE,
            Kind.IMPORT_NAME,
            Kind.IMPORT_STAR,
            Kind.PRINT_EXPR,
            Kind.SET_FUNCTION_ATTRIBUTE,
        ),
        -1,
    ),
    **dict.fromkeys(
        (
            Kind.STORE_ATTRIBUTE,
            Kind.DELETE_SUBSCRIPT,
            Kind.BINARY_SLICE,
            Kind.MAP_ADD,
            Kind.END_ASYNC_FOR,
            Kind.MATCH_CLASS,
        ),
        -2,
    ),
    Kind.STORE_SUBSCRIPT: -3,
    Kind.STORE_SLICE: -4,
}

_TWO_ARGUMENT_INTRINSICS: Final = frozenset(
    {"TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_FUNCTION_TYPE_PARAMS", "SET_TYPEPARAM_DEFAULT"}
)


def _count(argument: object) -> int:
    assert isinstance(argument, int)
    return argument


def _of_call(argument: object) -> int:
    assert isinstance(argument, tuple)
    return -1 - _count(argument[0])


def _of_unpack_ex(argument: object) -> int:
    assert isinstance(argument, tuple)
    return _count(argument[0]) + _count(argument[1])


def _of_super(argument: object) -> int:
    assert isinstance(argument, tuple)
    return -2 + bool(argument[1])


def _of_format(argument: object) -> int:
    assert isinstance(argument, tuple)
    return -bool(argument[1])


def _of_class_cell(argument: object) -> int:
    assert isinstance(argument, tuple)
    return 0 if argument[1] else 1


_BY_ARGUMENT: Final[dict[Kind, Callable[[object], int]]] = {
    Kind.LOAD_CLASS_CELL: _of_class_cell,
    Kind.LOAD_SUPER_ATTRIBUTE: _of_super,
    Kind.BUILD_SLICE: lambda n: 1 - _count(n),
    Kind.BUILD_TUPLE: lambda n: 1 - _count(n),
    Kind.BUILD_LIST: lambda n: 1 - _count(n),
    Kind.BUILD_SET: lambda n: 1 - _count(n),
    Kind.BUILD_MAP: lambda n: 1 - 2 * _count(n),
    Kind.BUILD_CONST_KEY_MAP: lambda n: -_count(n),
    Kind.BUILD_STRING: lambda n: 1 - _count(n),
    Kind.FORMAT_VALUE: _of_format,
    Kind.BUILD_INTERPOLATION: lambda argument: -1 + _of_format(argument),
    Kind.UNPACK_SEQUENCE: lambda n: _count(n) - 1,
    Kind.UNPACK_EX: _of_unpack_ex,
    Kind.CALL: _of_call,
    Kind.CALL_NAMES_ON_STACK: lambda n: -2 - _count(n),
    Kind.CALL_EXTENDED: lambda has_kwargs: -3 if has_kwargs else -2,
    Kind.INTRINSIC: lambda name: -1 if name in _TWO_ARGUMENT_INTRINSICS else 0,
    Kind.MAKE_FUNCTION: lambda flags: -_count(flags).bit_count(),
    Kind.RAISE: lambda n: -_count(n),
    Kind.END_SEND: lambda slots: -_count(slots),
}

# What differs when the jump is taken: FOR_ITER drops the iterator; JUMP_IF_OR_POP keeps the value;
# SEND drops the receiver where no slot of it stays.
_JUMPING: Final[dict[Kind, Callable[[object], int]]] = {
    Kind.FOR_ITER: lambda slots: -_count(slots),
    Kind.JUMP_IF_OR_POP: lambda _: 0,
    Kind.SEND: lambda slots: 0 if slots else -1,
}


def effect(operation: Operation, jump: bool = False) -> int:
    """Change of depth made by `operation`; `jump` when it goes to its target."""
    kind = operation.kind
    if jump and kind in _JUMPING:
        return _JUMPING[kind](operation.argument)
    fixed = _CONSTANT.get(kind)
    if fixed is not None:
        return fixed
    varying = _BY_ARGUMENT.get(kind)
    return 0 if varying is None else varying(operation.argument)
