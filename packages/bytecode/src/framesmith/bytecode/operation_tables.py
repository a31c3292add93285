"""Which operations each native instruction becomes: one table for all supported versions.

A name whose meaning differs between versions has its rows chosen by `VERSION` here; a name that
only some versions know never occurs in the others. These are tables only: `meaning` applies them.
"""

from collections.abc import Callable
from typing import Final

from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import NULL_FIRST, VERSION
from framesmith.bytecode.operation import Kind

Step = tuple[Kind, object]
Rule = Callable[[Instruction], tuple[Step, ...]]

ITERATOR_SLOTS: Final = 2 if VERSION >= (3, 15) else 1
"""How many slots an iterator takes in a loop: 3.15 keeps an index above a list or tuple, and NULL above anything else."""

_PUSH_NULL: Final[Step] = (Kind.PUSH_NULL, None)

FIXED: Final[dict[str, tuple[Step, ...]]] = {
    "KW_NAMES": (),
    "PRECALL": (),
    "NOP": ((Kind.NOP, None),),
    "NOT_TAKEN": ((Kind.NOP, None),),
    "POP_ITER": ((Kind.POP, None),) * ITERATOR_SLOTS,
    "FOR_ITER": ((Kind.FOR_ITER, ITERATOR_SLOTS),),
    "END_SEND": ((Kind.END_SEND, ITERATOR_SLOTS),),
    "CLEANUP_THROW": ((Kind.CLEANUP_THROW, ITERATOR_SLOTS),),
    "GET_YIELD_FROM_ITER": ((Kind.GET_YIELD_FROM_ITER, None),),
    "END_ASYNC_FOR": ((Kind.END_ASYNC_FOR, None),),
    "LOAD_ASSERTION_ERROR": ((Kind.LOAD_COMMON_CONSTANT, AssertionError),),
    "WITH_EXCEPT_START": ((Kind.WITH_EXCEPT_START, 5 if VERSION >= (3, 14) else 4),),
    "RESUME": ((Kind.NOP, None),),
    "COPY_FREE_VARS": ((Kind.NOP, None),),
    "ASYNC_GEN_WRAP": ((Kind.INTRINSIC, "ASYNC_GEN_WRAP"),),
    "UNARY_NEGATIVE": ((Kind.UNARY, "-"),),
    "UNARY_INVERT": ((Kind.UNARY, "~"),),
    "UNARY_NOT": ((Kind.UNARY, "not"),),
    "UNARY_POSITIVE": ((Kind.UNARY, "+"),),
    "FORMAT_SIMPLE": ((Kind.FORMAT_VALUE, ("", False)),),
    "FORMAT_WITH_SPEC": ((Kind.FORMAT_VALUE, ("", True)),),
}
"""Instructions that always give the same operations, whatever their argument is."""

PASSED: Final[dict[str, Kind]] = {
    "POP_TOP": Kind.POP,
    "COPY": Kind.COPY,
    "SWAP": Kind.SWAP,
    "PUSH_NULL": Kind.PUSH_NULL,
    "LOAD_CONST": Kind.LOAD_CONST,
    "LOAD_FAST": Kind.LOAD_LOCAL,
    "LOAD_FAST_CHECK": Kind.LOAD_LOCAL,
    "LOAD_FAST_BORROW": Kind.LOAD_LOCAL,
    "LOAD_SMALL_INT": Kind.LOAD_CONST,
    "STORE_FAST": Kind.STORE_LOCAL,
    "DELETE_FAST": Kind.DELETE_LOCAL,
    "LOAD_FAST_AND_CLEAR": Kind.LOAD_LOCAL_AND_CLEAR,
    "MAKE_CELL": Kind.MAKE_CELL,
    "LOAD_CLOSURE": Kind.LOAD_CLOSURE,
    "LOAD_DEREF": Kind.LOAD_CELL,
    "STORE_DEREF": Kind.STORE_CELL,
    "DELETE_DEREF": Kind.DELETE_CELL,
    "STORE_GLOBAL": Kind.STORE_GLOBAL,
    "DELETE_GLOBAL": Kind.DELETE_GLOBAL,
    "LOAD_NAME": Kind.LOAD_NAME,
    "STORE_NAME": Kind.STORE_NAME,
    "DELETE_NAME": Kind.DELETE_NAME,
    "LOAD_LOCALS": Kind.LOAD_LOCALS,
    "LOAD_FROM_DICT_OR_GLOBALS": Kind.LOAD_FROM_DICT_OR_GLOBALS,
    "LOAD_BUILD_CLASS": Kind.LOAD_BUILD_CLASS,
    "SETUP_ANNOTATIONS": Kind.SETUP_ANNOTATIONS,
    "STORE_ATTR": Kind.STORE_ATTRIBUTE,
    "DELETE_ATTR": Kind.DELETE_ATTRIBUTE,
    "LOAD_METHOD": Kind.LOAD_METHOD,
    "TO_BOOL": Kind.TO_BOOL,
    "BINARY_SUBSCR": Kind.SUBSCRIPT,
    "STORE_SUBSCR": Kind.STORE_SUBSCRIPT,
    "DELETE_SUBSCR": Kind.DELETE_SUBSCRIPT,
    "BINARY_SLICE": Kind.BINARY_SLICE,
    "STORE_SLICE": Kind.STORE_SLICE,
    "BUILD_SLICE": Kind.BUILD_SLICE,
    "BUILD_TUPLE": Kind.BUILD_TUPLE,
    "BUILD_LIST": Kind.BUILD_LIST,
    "BUILD_SET": Kind.BUILD_SET,
    "BUILD_MAP": Kind.BUILD_MAP,
    "BUILD_CONST_KEY_MAP": Kind.BUILD_CONST_KEY_MAP,
    "BUILD_STRING": Kind.BUILD_STRING,
    "BUILD_TEMPLATE": Kind.BUILD_TEMPLATE,
    "LIST_APPEND": Kind.LIST_APPEND,
    "SET_ADD": Kind.SET_ADD,
    "MAP_ADD": Kind.MAP_ADD,
    "LIST_EXTEND": Kind.LIST_EXTEND,
    "SET_UPDATE": Kind.SET_UPDATE,
    "DICT_UPDATE": Kind.DICT_UPDATE,
    "DICT_MERGE": Kind.DICT_MERGE,
    "LIST_TO_TUPLE": Kind.LIST_TO_TUPLE,
    "UNPACK_SEQUENCE": Kind.UNPACK_SEQUENCE,
    "CALL_KW": Kind.CALL_NAMES_ON_STACK,
    "SET_FUNCTION_ATTRIBUTE": Kind.SET_FUNCTION_ATTRIBUTE,
    "JUMP_FORWARD": Kind.JUMP,
    "JUMP_BACKWARD": Kind.JUMP,
    "JUMP_BACKWARD_NO_INTERRUPT": Kind.JUMP,
    "END_FOR": Kind.END_FOR,
    "RETURN_VALUE": Kind.RETURN,
    "RETURN_GENERATOR": Kind.RETURN_GENERATOR,
    "GET_AWAITABLE": Kind.GET_AWAITABLE,
    "GET_AITER": Kind.GET_AITER,
    "GET_ANEXT": Kind.GET_ANEXT,
    "BEFORE_ASYNC_WITH": Kind.BEFORE_ASYNC_WITH,
    "PUSH_EXC_INFO": Kind.PUSH_EXCEPTION,
    "POP_EXCEPT": Kind.POP_EXCEPTION,
    "CHECK_EXC_MATCH": Kind.CHECK_EXCEPTION_MATCH,
    "CHECK_EG_MATCH": Kind.CHECK_GROUP_MATCH,
    "PREP_RERAISE_STAR": Kind.PREPARE_RERAISE_STAR,
    "RERAISE": Kind.RERAISE,
    "RAISE_VARARGS": Kind.RAISE,
    "BEFORE_WITH": Kind.BEFORE_WITH,
    "LOAD_SPECIAL": Kind.LOAD_SPECIAL,
    "IMPORT_FROM": Kind.IMPORT_FROM,
    "IMPORT_STAR": Kind.IMPORT_STAR,
    "PRINT_EXPR": Kind.PRINT_EXPR,
    "MATCH_CLASS": Kind.MATCH_CLASS,
    "MATCH_MAPPING": Kind.MATCH_MAPPING,
    "MATCH_SEQUENCE": Kind.MATCH_SEQUENCE,
    "MATCH_KEYS": Kind.MATCH_KEYS,
    "GET_LEN": Kind.GET_LEN,
}
"""Instructions that give one operation with the same argument."""

# In 3.13 the number beside these carries no meaning (YIELD_VALUE: whether it is part of `yield from`).
FIXED["YIELD_VALUE"] = ((Kind.YIELD, None),)
FIXED["SEND"] = ((Kind.SEND, ITERATOR_SLOTS if VERSION >= (3, 12) else 0),)
if VERSION >= (3, 13):
    FIXED["MAKE_FUNCTION"] = ((Kind.MAKE_FUNCTION, 0),)
else:
    PASSED["MAKE_FUNCTION"] = Kind.MAKE_FUNCTION

for _prefix in ("POP_JUMP_", "POP_JUMP_FORWARD_", "POP_JUMP_BACKWARD_"):
    FIXED[f"{_prefix}IF_TRUE"] = ((Kind.POP_JUMP_IF, True),)
    FIXED[f"{_prefix}IF_FALSE"] = ((Kind.POP_JUMP_IF, False),)
    FIXED[f"{_prefix}IF_NONE"] = ((Kind.POP_JUMP_IF_NONE, True),)
    FIXED[f"{_prefix}IF_NOT_NONE"] = ((Kind.POP_JUMP_IF_NONE, False),)
FIXED["JUMP_IF_TRUE_OR_POP"] = ((Kind.JUMP_IF_OR_POP, True),)
FIXED["JUMP_IF_FALSE_OR_POP"] = ((Kind.JUMP_IF_OR_POP, False),)


def _split_flag(argument: object) -> tuple[str, int]:
    assert isinstance(argument, tuple)
    name, flags = argument
    return name, flags


def _load_global(instruction: Instruction) -> tuple[Step, ...]:
    name, null = _split_flag(instruction.argument)
    load: Step = (Kind.LOAD_GLOBAL, name)
    if not null:
        return (load,)
    return (_PUSH_NULL, load) if NULL_FIRST else (load, _PUSH_NULL)


def _load_attr(instruction: Instruction) -> tuple[Step, ...]:
    if isinstance(instruction.argument, str):
        return ((Kind.LOAD_ATTRIBUTE, instruction.argument),)
    name, method = _split_flag(instruction.argument)
    return ((Kind.LOAD_METHOD if method else Kind.LOAD_ATTRIBUTE, name),)


def _load_super_attr(instruction: Instruction) -> tuple[Step, ...]:
    name, flags = _split_flag(instruction.argument)
    return ((Kind.LOAD_SUPER_ATTRIBUTE, (name, bool(flags & 1), not flags & 2)),)


def _get_iter(instruction: Instruction) -> tuple[Step, ...]:
    kind = Kind.GET_YIELD_FROM_ITER if instruction.argument else Kind.GET_ITER
    return ((kind, None), _PUSH_NULL) if ITERATOR_SLOTS == 2 else ((kind, None),)


def _import_name(instruction: Instruction) -> tuple[Step, ...]:
    argument = instruction.argument
    return ((Kind.IMPORT_NAME, argument[0] if isinstance(argument, tuple) else argument),)


def _compare(instruction: Instruction) -> tuple[Step, ...]:
    symbol, flags = _split_flag(instruction.argument)
    return ((Kind.COMPARE, (symbol, VERSION >= (3, 13) and bool(flags & 16))),)


def _binary(instruction: Instruction) -> tuple[Step, ...]:
    symbol = str(instruction.argument)
    if symbol == "[]":
        return ((Kind.SUBSCRIPT, None),)
    return ((Kind.BINARY, (symbol.removesuffix("="), symbol.endswith("="))),)


def _negatable(kind: Kind) -> Rule:
    return lambda instruction: ((kind, bool(instruction.argument)),)


def _local_pair(first: Kind, second: Kind) -> Rule:
    def rule(instruction: Instruction) -> tuple[Step, ...]:
        assert isinstance(instruction.argument, tuple)
        one, two = instruction.argument
        return ((first, one), (second, two))

    return rule


def _class_cell(mapping_on_stack: bool) -> Rule:
    return lambda instruction: ((Kind.LOAD_CLASS_CELL, (instruction.argument, mapping_on_stack)),)


_CONVERSIONS: Final = ("", "s", "r", "a")


def _number(instruction: Instruction) -> int:
    value = instruction.argument
    return value if isinstance(value, int) else 0


def _format_value(instruction: Instruction) -> tuple[Step, ...]:
    packed = _number(instruction)
    return ((Kind.FORMAT_VALUE, (_CONVERSIONS[packed & 3], bool(packed & 4))),)


def _convert_value(instruction: Instruction) -> tuple[Step, ...]:
    return ((Kind.CONVERT_VALUE, _CONVERSIONS[_number(instruction)]),)


def _unpack_ex(instruction: Instruction) -> tuple[Step, ...]:
    packed = _number(instruction)
    return ((Kind.UNPACK_EX, (packed & 255, packed >> 8)),)


def _call_extended(instruction: Instruction) -> tuple[Step, ...]:
    return ((Kind.CALL_EXTENDED, VERSION >= (3, 14) or bool(_number(instruction) & 1)),)


def _common_constant(instruction: Instruction) -> tuple[Step, ...]:
    value = instruction.argument
    # From 3.15 on there are constants as in `co_consts` among them: None, True, -1, the empty string.
    plain = value is None or isinstance(value, str | bool | int)
    return ((Kind.LOAD_CONST if plain else Kind.LOAD_COMMON_CONSTANT, value),)


def _interpolation(instruction: Instruction) -> tuple[Step, ...]:
    packed = _number(instruction)
    return ((Kind.BUILD_INTERPOLATION, (_CONVERSIONS[packed >> 2], bool(packed & 1))),)


def _return_const(instruction: Instruction) -> tuple[Step, ...]:
    return ((Kind.LOAD_CONST, instruction.argument), (Kind.RETURN, None))


_INTRINSICS: Final[dict[str, tuple[Step, ...]]] = {
    # Every intrinsic gives a value: these two give None, which the code pops; up to 3.11 they gave nothing.
    "PRINT": ((Kind.PRINT_EXPR, None), (Kind.LOAD_CONST, None)),
    "IMPORT_STAR": ((Kind.IMPORT_STAR, None), (Kind.LOAD_CONST, None)),
    "UNARY_POSITIVE": ((Kind.UNARY, "+"),),
    "LIST_TO_TUPLE": ((Kind.LIST_TO_TUPLE, None),),
    "PREP_RERAISE_STAR": ((Kind.PREPARE_RERAISE_STAR, None),),
}


def _intrinsic(instruction: Instruction) -> tuple[Step, ...]:
    name = str(instruction.argument)
    return _INTRINSICS.get(name, ((Kind.INTRINSIC, name),))


RULES: Final[dict[str, Rule]] = {
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "GET_ITER": _get_iter,
    "IMPORT_NAME": _import_name,
    "COMPARE_OP": _compare,
    "BINARY_OP": _binary,
    "IS_OP": _negatable(Kind.IS),
    "CONTAINS_OP": _negatable(Kind.CONTAINS),
    "LOAD_FAST_LOAD_FAST": _local_pair(Kind.LOAD_LOCAL, Kind.LOAD_LOCAL),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _local_pair(Kind.LOAD_LOCAL, Kind.LOAD_LOCAL),
    "LOAD_COMMON_CONSTANT": _common_constant,
    "BUILD_INTERPOLATION": _interpolation,
    "STORE_FAST_LOAD_FAST": _local_pair(Kind.STORE_LOCAL, Kind.LOAD_LOCAL),
    "STORE_FAST_STORE_FAST": _local_pair(Kind.STORE_LOCAL, Kind.STORE_LOCAL),
    "LOAD_CLASSDEREF": _class_cell(False),
    "LOAD_FROM_DICT_OR_DEREF": _class_cell(True),
    "FORMAT_VALUE": _format_value,
    "CONVERT_VALUE": _convert_value,
    "UNPACK_EX": _unpack_ex,
    "CALL_FUNCTION_EX": _call_extended,
    "RETURN_CONST": _return_const,
    "CALL_INTRINSIC_1": _intrinsic,
    "CALL_INTRINSIC_2": _intrinsic,
}
"""Instructions whose argument has to be taken apart. CALL is not here: it needs the KW_NAMES before it."""
