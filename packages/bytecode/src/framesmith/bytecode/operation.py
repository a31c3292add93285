"""The vocabulary of the version-neutral reading: `Kind`, `Operation`, `Handler`.

`operation_tables` says which native instruction gives which operations, `operation_effects` what
an operation does to the depth of the stack, `meaning` puts a whole code object into these terms.
"""

from dataclasses import dataclass
from enum import StrEnum, auto
from typing import final

from framesmith.bytecode.instruction import Position


@final
class Kind(StrEnum):
    """What an operation does. The stack effect is CPython's, slot for slot, NULLs included."""

    # stack
    NOP = auto()
    POP = auto()
    COPY = auto()  # n, 1 is the top
    SWAP = auto()  # n
    PUSH_NULL = auto()
    LOAD_CONST = auto()  # the object
    # locals
    LOAD_LOCAL = auto()  # name
    STORE_LOCAL = auto()  # name
    DELETE_LOCAL = auto()  # name
    LOAD_LOCAL_AND_CLEAR = auto()  # name; pushes NULL if unbound
    # cells
    MAKE_CELL = auto()  # name
    LOAD_CLOSURE = auto()  # name; pushes the cell itself
    LOAD_CELL = auto()  # name
    STORE_CELL = auto()  # name
    DELETE_CELL = auto()  # name
    LOAD_CLASS_CELL = auto()  # (name, mapping_on_stack)
    # names
    LOAD_GLOBAL = auto()  # name
    STORE_GLOBAL = auto()  # name
    DELETE_GLOBAL = auto()  # name
    LOAD_NAME = auto()  # name
    STORE_NAME = auto()  # name
    DELETE_NAME = auto()  # name
    LOAD_LOCALS = auto()
    LOAD_FROM_DICT_OR_GLOBALS = auto()  # name; pops the mapping
    LOAD_BUILD_CLASS = auto()
    LOAD_COMMON_CONSTANT = auto()  # the object: a builtin function or class that no name can hide
    SETUP_ANNOTATIONS = auto()
    # attributes
    LOAD_ATTRIBUTE = auto()  # name
    STORE_ATTRIBUTE = auto()  # name; pops object (top), value
    DELETE_ATTRIBUTE = auto()  # name
    LOAD_METHOD = auto()  # name; pops the object, pushes two slots
    LOAD_SUPER_ATTRIBUTE = auto()  # (name, is_method, zero_argument); pops super, class, self
    # operators
    BINARY = auto()  # (symbol, inplace)
    UNARY = auto()  # "-", "~", "not", "+"
    COMPARE = auto()  # (symbol, to_bool)
    IS = auto()  # negate
    CONTAINS = auto()  # negate
    TO_BOOL = auto()
    SUBSCRIPT = auto()
    STORE_SUBSCRIPT = auto()  # pops key (top), container, value
    DELETE_SUBSCRIPT = auto()  # pops key (top), container
    BINARY_SLICE = auto()  # pops stop (top), start, container
    STORE_SLICE = auto()  # pops stop (top), start, container, value
    BUILD_SLICE = auto()  # 2 or 3
    # building
    BUILD_TUPLE = auto()  # n
    BUILD_LIST = auto()  # n
    BUILD_SET = auto()  # n
    BUILD_MAP = auto()  # n pairs
    BUILD_CONST_KEY_MAP = auto()  # n; the tuple of keys is on top
    BUILD_STRING = auto()  # n
    BUILD_TEMPLATE = auto()  # pops the tuple of interpolations (top), the tuple of strings
    # (conversion, has_format); pops format if there is one, expression text, value
    BUILD_INTERPOLATION = auto()
    LIST_APPEND = auto()  # i: the list is i-th from the top after the pop
    SET_ADD = auto()  # i
    MAP_ADD = auto()  # i; pops value (top), key
    LIST_EXTEND = auto()  # i
    SET_UPDATE = auto()  # i
    DICT_UPDATE = auto()  # i
    DICT_MERGE = auto()  # i
    LIST_TO_TUPLE = auto()
    FORMAT_VALUE = auto()  # (conversion, has_spec)
    CONVERT_VALUE = auto()  # "s", "r", "a"
    UNPACK_SEQUENCE = auto()  # n
    UNPACK_EX = auto()  # (before, after)
    # calls
    CALL = auto()  # (argc, names)
    CALL_NAMES_ON_STACK = auto()  # argc; the tuple of names is on top
    CALL_EXTENDED = auto()  # has_kwargs; where it has, their slot may hold NULL
    INTRINSIC = auto()  # name
    MAKE_FUNCTION = auto()  # flags; code is on top
    SET_FUNCTION_ATTRIBUTE = auto()  # flag; pops function (top), value, pushes function
    # jumps
    JUMP = auto()
    POP_JUMP_IF = auto()  # bool
    POP_JUMP_IF_NONE = auto()  # bool: jump when (value is None) == argument
    JUMP_IF_OR_POP = auto()  # bool: jumps and keeps the value when its truth is the argument, else pops
    GET_ITER = auto()
    FOR_ITER = auto()  # slots of the iterator, 1 or (3.15, the second is NULL) 2; pushes the next value, or drops them and jumps
    END_FOR = auto()  # never reached by falling through
    # leaving
    RETURN = auto()
    RETURN_GENERATOR = auto()  # pushes what the first `send` gives (None)
    YIELD = auto()  # pops what is yielded, pushes what is sent
    SEND = auto()  # slots of the receiver that stay, 0 to 2; see `meaning`
    GET_YIELD_FROM_ITER = auto()
    END_SEND = auto()  # removes so many slots below the top, 1 or 2
    CLEANUP_THROW = auto()  # slots of the receiver, which stay with None in the first
    GET_AWAITABLE = auto()  # 0, 1 (aenter) or 2 (aexit)
    GET_AITER = auto()
    GET_ANEXT = auto()
    END_ASYNC_FOR = auto()
    BEFORE_ASYNC_WITH = auto()
    # exceptions
    PUSH_EXCEPTION = auto()  # puts the exception handled so far below the new one
    POP_EXCEPTION = auto()  # pops it and makes it current again
    CHECK_EXCEPTION_MATCH = auto()
    CHECK_GROUP_MATCH = auto()
    PREPARE_RERAISE_STAR = auto()
    RERAISE = auto()  # n: a saved instruction offset is n slots below the exception, 0 for none
    RAISE = auto()  # n: 0 bare, 1 exception, 2 with cause
    BEFORE_WITH = auto()
    # name; pops the object, pushes two slots as LOAD_METHOD does; looked up in the type
    LOAD_SPECIAL = auto()
    # the slot of `__exit__`, counted from the top: 4, or 5 where its `self` is above it
    WITH_EXCEPT_START = auto()
    # imports
    IMPORT_NAME = auto()  # name; pops fromlist (top), level
    IMPORT_FROM = auto()  # name; keeps the module
    IMPORT_STAR = auto()
    PRINT_EXPR = auto()
    # patterns
    MATCH_CLASS = auto()  # n
    MATCH_MAPPING = auto()
    MATCH_SEQUENCE = auto()
    MATCH_KEYS = auto()
    GET_LEN = auto()


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """One step of the version-neutral reading; `target` and `instruction` are indices."""

    kind: Kind
    argument: object
    target: int | None
    instruction: int
    position: Position


@final
@dataclass(frozen=True, slots=True)
class Handler:
    """Where an exception leads: cut the stack to `depth`, push the offset if `push_lasti`, push the exception."""

    target: int
    depth: int
    push_lasti: bool


NO_FALL_THROUGH = frozenset({Kind.JUMP, Kind.RETURN, Kind.RAISE, Kind.RERAISE})
