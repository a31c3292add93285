"""Building and taking apart tuples, lists, sets, dicts, slices, and strings from formatted parts (f-strings).

Reading an item of one: `emitting.variables`.
"""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting.variables import load_constant, load_item
from framesmith.bytecode.errors import require_argument, require_choice, require_count
from framesmith.bytecode.opcodes import NUMBERS

_CONVERSIONS: Final = {"": 0, "s": 1, "r": 2, "a": 3}


def build_tuple(emitter: Emitter, n: int) -> None:
    """A tuple of the n topmost values."""
    emitter.emit("BUILD_TUPLE", n)


def build_list(emitter: Emitter, n: int) -> None:
    """A list of the n topmost values."""
    emitter.emit("BUILD_LIST", n)


def build_set(emitter: Emitter, n: int) -> None:
    """A set of the n topmost values."""
    emitter.emit("BUILD_SET", n)


def build_dict(emitter: Emitter, n: int) -> None:
    """A dict of n pairs: `key, value, key, value, ...`."""
    emitter.emit("BUILD_MAP", n)


def build_dict_of(emitter: Emitter, keys: tuple[object, ...]) -> None:
    """A dict of the topmost values under constant keys."""
    require_argument("build_dict_of()", keys, tuple, "no tuple of keys", "pass a tuple, of one key as well")
    if "BUILD_CONST_KEY_MAP" in NUMBERS:
        load_constant(emitter, keys)
        emitter.emit("BUILD_CONST_KEY_MAP", len(keys))
        return
    # MAP_ADD wants each key below its value, and the values lie on the stack already.
    emitter.emit("BUILD_TUPLE", len(keys))
    emitter.emit("BUILD_MAP", 0)
    for index, key in enumerate(keys):
        load_constant(emitter, key)
        emitter.emit("COPY", 3)  # the tuple of values
        load_constant(emitter, index)
        load_item(emitter)
        emitter.emit("MAP_ADD", 1)
    emitter.emit("SWAP", 2)
    emitter.emit("POP_TOP")


def build_slice(emitter: Emitter, n: int) -> None:
    """A slice of `start, stop` (n = 2) or `start, stop, step` (n = 3)."""
    emitter.emit("BUILD_SLICE", n)


def append(emitter: Emitter, depth: int = 1) -> None:
    """`list, ..., value -> list, ...`: the list is `depth` below the value."""
    emitter.emit("LIST_APPEND", depth)


def extend(emitter: Emitter, depth: int = 1) -> None:
    """`list, ..., iterable -> list, ...`."""
    emitter.emit("LIST_EXTEND", depth)


def update(emitter: Emitter, depth: int = 1) -> None:
    """`dict, ..., mapping -> dict, ...`."""
    emitter.emit("DICT_UPDATE", depth)


def list_to_tuple(emitter: Emitter) -> None:
    """`list -> tuple`."""
    if "LIST_TO_TUPLE" in NUMBERS:
        emitter.emit("LIST_TO_TUPLE")
    else:
        emitter.emit("CALL_INTRINSIC_1", "LIST_TO_TUPLE")


def unpack(emitter: Emitter, n: int) -> None:
    """`iterable ->` its n values, the first on top."""
    emitter.emit("UNPACK_SEQUENCE", n)


def unpack_starred(emitter: Emitter, before: int, after: int) -> None:
    """`iterable ->` `before` values, a list of the middle, `after` values; the first on top. Of those before there are 255 at most."""
    require_count("unpack_starred()", before, 0, 255)
    require_count("unpack_starred()", after)
    emitter.emit("UNPACK_EX", before | after << 8)


def format_value(emitter: Emitter, conversion: str = "", with_spec: bool = False) -> None:
    """`value -> str`, or `value, spec -> str`; conversion is "", "s", "r" or "a"."""
    require_choice("format_value()", conversion, _CONVERSIONS, "conversion")
    if "FORMAT_VALUE" in NUMBERS:
        emitter.emit("FORMAT_VALUE", _CONVERSIONS[conversion] | with_spec * 4)
        return
    if conversion:
        # The conversion is of the value, which is below the spec.
        if with_spec:
            emitter.emit("SWAP", 2)
        emitter.emit("CONVERT_VALUE", _CONVERSIONS[conversion])
        if with_spec:
            emitter.emit("SWAP", 2)
    emitter.emit("FORMAT_WITH_SPEC" if with_spec else "FORMAT_SIMPLE")


def join_strings(emitter: Emitter, n: int) -> None:
    """Concatenate the n topmost strings."""
    emitter.emit("BUILD_STRING", n)
