"""Locals, cells, globals and the names of class bodies.

Attributes are in `opcodes.attributes`.
"""

from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.finalizers import drop_references
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.stack import name_of
from framesmith.frontend.tracing.opcodes.table import OpcodeRows
from framesmith.graph import GraphBreak
from framesmith.guards.kinds import HasKey
from framesmith.guards.sources import Item, Pinned
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.namespaces import builtins_of
from framesmith.variables.core import NULL, Lazy, Null, Tracker
from framesmith.variables.core.attribute_errors import missing_name
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.LOAD_LOCAL)
def load_local(machine: Machine, operation: Operation) -> None:
    """Push a fast local, without reading its value."""
    name = operation.argument
    assert isinstance(name, str)
    machine.frames[-1].push(machine.load_local(name))


@ROWS.opcode(Kind.STORE_LOCAL)
def store_local(machine: Machine, operation: Operation) -> None:
    """Bind a fast local, or put back what LOAD_LOCAL_AND_CLEAR saved: nothing, a value or a cell."""
    frame, name = machine.frames[-1], operation.argument
    assert isinstance(name, str)
    value, before = frame.pop(), frame.locals.get(name)
    if isinstance(value, Null):
        frame.locals.pop(name, None)
        frame.cells.pop(name, None)
    elif isinstance(value, CellTracker) and name in frame.code.co_cellvars:
        frame.cells[name] = value
        frame.locals.pop(name, None)
    else:
        frame.locals[name] = value
        _name_after(machine, value, name)
    # after the store, so that the variable does not count as holding it
    if before is not None:
        drop_references(machine, [before])


@ROWS.opcode(Kind.DELETE_LOCAL)
def delete_local(machine: Machine, operation: Operation) -> None:
    """Unbind a fast local."""
    frame, name = machine.frame, name_of(operation)
    before = machine.load_local(name)
    del frame.locals[name]
    try:
        drop_references(machine, [before])
    except GraphBreak:
        frame.locals[name] = before  # CPython deletes it when the operation runs natively
        raise


@ROWS.opcode(Kind.LOAD_LOCAL_AND_CLEAR)
def load_local_and_clear(machine: Machine, operation: Operation) -> None:
    """Push a fast local, or NULL, and unbind it (inlined comprehensions, PEP 709)."""
    frame, name = machine.frame, name_of(operation)
    saved = frame.cells.pop(name, None)
    frame.push(frame.locals.pop(name, NULL) if saved is None else saved)


@ROWS.opcode(Kind.MAKE_CELL)
def make_cell(machine: Machine, operation: Operation) -> None:
    """Turn a local, perhaps a parameter, into a cell."""
    frame, name = machine.frame, name_of(operation)
    frame.cells[name] = CellTracker(frame.locals.pop(name, None))


@ROWS.opcode(Kind.LOAD_CLOSURE)
def load_closure(machine: Machine, operation: Operation) -> None:
    """Push the cell itself."""
    machine.frame.push(machine.frame.cells[name_of(operation)])


@ROWS.opcode(Kind.LOAD_CELL)
def load_cell(machine: Machine, operation: Operation) -> None:
    """Push the contents of a cell."""
    machine.frame.push(machine.load_cell(name_of(operation)))


@ROWS.opcode(Kind.STORE_CELL)
def store_cell(machine: Machine, operation: Operation) -> None:
    """Store into a cell."""
    frame = machine.frame
    cell = frame.cells[name_of(operation)]
    before = cell.contents
    value = frame.pop()
    cell.store(machine.tx, value)
    _name_after(machine, value, name_of(operation))
    if before is not None:
        drop_references(machine, [before])


@ROWS.opcode(Kind.DELETE_CELL)
def delete_cell(machine: Machine, operation: Operation) -> None:
    """Empty a cell."""
    cell = machine.frame.cells[name_of(operation)]
    before = machine.load_cell(name_of(operation))
    cell.store(machine.tx, None)
    try:
        drop_references(machine, [before])
    except GraphBreak:
        cell.store(machine.tx, before)  # CPython empties it when the operation runs natively
        raise


@ROWS.opcode(Kind.LOAD_GLOBAL)
def load_global(machine: Machine, operation: Operation) -> None:
    """Push a global or builtin."""
    frame = machine.frame
    frame.push(frame.namespace.load(machine.tx, name_of(operation)))


@ROWS.opcode(Kind.STORE_GLOBAL)
def store_global(machine: Machine, operation: Operation) -> None:
    """Bind a global; the real dictionary is written after the graph."""
    frame = machine.frame
    frame.namespace.store(machine.tx, name_of(operation), frame.pop())


@ROWS.opcode(Kind.DELETE_GLOBAL)
def delete_global(machine: Machine, operation: Operation) -> None:
    """Delete a global."""
    frame, name = machine.frame, name_of(operation)
    if frame.namespace.find(machine.tx, name) is None:
        missing_name(machine.tx, name)
    frame.namespace.store(machine.tx, name, None)


@ROWS.opcode(Kind.LOAD_COMMON_CONSTANT)
def load_common_constant(machine: Machine, operation: Operation) -> None:
    """Push AssertionError, `all` and the like, whatever the name means now."""
    value = operation.argument
    machine.frame.push(machine.tx.wrap(value, Pinned(value, getattr(value, "__name__", repr(value)))))


@ROWS.opcode(Kind.LOAD_BUILD_CLASS)
def load_build_class(machine: Machine, operation: Operation) -> None:
    """Push `__build_class__`; calling it breaks the graph."""
    frame = machine.frame
    scope = builtins_of(frame.namespace.value)
    if "__build_class__" not in scope:
        machine.tx.guard(Pinned(scope, "builtins"), HasKey("__build_class__", False))
        raise_observed(machine.tx, NameError, "__build_class__ not found")  # ceval.c
    builder: Lazy = lazy(
        machine.tx, scope["__build_class__"], Item(Pinned(scope, "builtins"), "__build_class__")
    )
    frame.push(builder)


@ROWS.opcode(Kind.LOAD_NAME)
def load_name(machine: Machine, operation: Operation) -> None:
    """Push a name of a class body, else a global or builtin."""
    frame, name = machine.frame, name_of(operation)
    found = frame.names.get(name)
    frame.push(frame.namespace.load(machine.tx, name) if found is None else found)


@ROWS.opcode(Kind.STORE_NAME)
def store_name(machine: Machine, operation: Operation) -> None:
    """Bind a name of a class body."""
    frame = machine.frame
    frame.names[name_of(operation)] = frame.pop()


@ROWS.opcode(Kind.DELETE_NAME)
def delete_name(machine: Machine, operation: Operation) -> None:
    """Unbind a name of a class body."""
    frame, name = machine.frame, name_of(operation)
    if name not in frame.names:
        missing_name(machine.tx, name)
    del frame.names[name]


def _name_after(machine: Machine, value: Tracker, name: str) -> None:
    if isinstance(value, TensorTracker):
        machine.tx.graph.variables.bind(value.node, name)
