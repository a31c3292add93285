"""Loads and stores of every kind: constants, locals, cells, globals, names, attributes, items.

`load`, `store` and `delete` take a variable by name and find out what it is in the code being written. What makes a
function and its cells: `emitting.calls`.
"""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.errors import AssembleError, describe_close
from framesmith.bytecode.opcodes import CLOSURE_LOAD, NUMBERS, VERSION
from framesmith.bytecode.slots import add_local

_FLAGGED_ATTRIBUTES: Final = VERSION >= (3, 12)


def load_constant(emitter: Emitter, value: object) -> None:
    """Push this very object."""
    emitter.emit("LOAD_CONST", value)


def load(emitter: Emitter, name: str) -> None:
    """Push a variable: cell or free variable, local, else global or builtin.

    A misspelt name is a global, too: `load_local` refuses it.
    """
    parts = emitter.parts
    if name in parts.cellvars or name in parts.freevars:
        emitter.emit("LOAD_DEREF", name)
    elif name in parts.varnames:
        # From 3.12 on LOAD_FAST trusts the compiler that the variable is bound: it would push NULL.
        emitter.emit("LOAD_FAST_CHECK" if VERSION >= (3, 12) else "LOAD_FAST", name)
    else:
        load_global(emitter, name)


def load_local(emitter: Emitter, name: str) -> None:
    """Push a cell, free variable or local; AssembleError for a name that is none of them, which `load` takes for a global."""
    if name not in _variables(emitter):
        raise _make_unknown(emitter, name, "variable", _variables(emitter))
    load(emitter, name)


def store(emitter: Emitter, name: str) -> None:
    """Pop into a cell, free variable or local; another name becomes a new local."""
    parts = emitter.parts
    if name in parts.cellvars or name in parts.freevars:
        emitter.emit("STORE_DEREF", name)
        return
    if name not in parts.varnames:
        add_local(parts, name)
    emitter.emit("STORE_FAST", name)


def delete(emitter: Emitter, name: str) -> None:
    """Unbind a cell, free variable or local."""
    parts = emitter.parts
    if name in parts.cellvars or name in parts.freevars:
        emitter.emit("DELETE_DEREF", name)
    elif name in parts.varnames:
        emitter.emit("DELETE_FAST", name)
    else:
        raise _make_unknown(emitter, name, "variable", _variables(emitter))


def _variables(emitter: Emitter) -> list[str]:
    parts = emitter.parts
    return list(dict.fromkeys([*parts.varnames, *parts.cellvars, *parts.freevars]))


def _make_unknown(emitter: Emitter, name: object, what: str, known: list[str]) -> AssembleError:
    return AssembleError(f"{name!r} is no {what} of {emitter.parts.qualname}{describe_close(name, known)}")


def load_cell(emitter: Emitter, name: str) -> None:
    """Push the cell of a cell or free variable, for a closure."""
    cells = [*emitter.parts.cellvars, *emitter.parts.freevars]
    if name not in cells:
        raise _make_unknown(emitter, name, "cell or free variable", cells)
    emitter.emit(CLOSURE_LOAD, name)


def load_global(emitter: Emitter, name: str) -> None:
    """Push a global, or the builtin of that name."""
    emitter.emit("LOAD_GLOBAL", (name, 0))


def store_global(emitter: Emitter, name: str) -> None:
    """Pop into a global."""
    emitter.emit("STORE_GLOBAL", name)


def delete_global(emitter: Emitter, name: str) -> None:
    """Unbind a global."""
    emitter.emit("DELETE_GLOBAL", name)


def load_name(emitter: Emitter, name: str) -> None:
    """Push a name of a class or module body."""
    emitter.emit("LOAD_NAME", name)


def store_name(emitter: Emitter, name: str) -> None:
    """Pop into a name of a class or module body."""
    emitter.emit("STORE_NAME", name)


def load_attribute(emitter: Emitter, name: str) -> None:
    """`object -> object.name`."""
    emitter.emit("LOAD_ATTR", (name, 0) if _FLAGGED_ATTRIBUTES else name)


def store_attribute(emitter: Emitter, name: str) -> None:
    """`value, object ->`, with `object.name = value`."""
    emitter.emit("STORE_ATTR", name)


def delete_attribute(emitter: Emitter, name: str) -> None:
    """`object ->`, with `del object.name`."""
    emitter.emit("DELETE_ATTR", name)


def load_item(emitter: Emitter) -> None:
    """`container, key -> container[key]`."""
    if "BINARY_SUBSCR" in NUMBERS:
        emitter.emit("BINARY_SUBSCR")
    else:
        emitter.emit("BINARY_OP", "[]")


def store_item(emitter: Emitter) -> None:
    """`value, container, key ->`, with `container[key] = value`."""
    emitter.emit("STORE_SUBSCR")


def delete_item(emitter: Emitter) -> None:
    """`container, key ->`, with `del container[key]`."""
    emitter.emit("DELETE_SUBSCR")


def load_slice(emitter: Emitter) -> None:
    """`container, start, stop -> container[start:stop]`."""
    emitter.emit("BUILD_SLICE", 2)
    load_item(emitter)


def store_slice(emitter: Emitter) -> None:
    """`value, container, start, stop ->`, with `container[start:stop] = value`."""
    emitter.emit("BUILD_SLICE", 2)
    emitter.emit("STORE_SUBSCR")
