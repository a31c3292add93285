"""Whether the program may go on with `p.data = v` where a trace ends.

A backward pass through the graph reads the new data then, where eager has saved `p`. The code of the frames says so, and that of the
generators and context managers in them.
"""

from collections.abc import Iterator
from contextlib import _GeneratorContextManagerBase
from types import CodeType, FunctionType, GeneratorType, MethodType

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.finalizers import real_object, variables_of
from framesmith.frontend.tracing.generators import SymbolicGenerator
from framesmith.frontend.tracing.machine import Machine, reading_of
from framesmith.guards.class_lookup import derives


def note_data_stores(machine: Machine, code: CodeType, *, is_finished: bool) -> None:
    """Tell the writes of the graph what the code of the program has. `code`: that of the compiled function."""
    writes = machine.tx.graph.writes
    if is_finished:
        writes.may_store_later = stores_data(code)
    elif any(map(stores_data, {code, *_codes(machine)})):
        writes.is_store_next = True


def stores_data(code: CodeType) -> bool:
    """Whether a code object has `x.data = ...`."""
    return "data" in code.co_names and any(
        one.kind is Kind.STORE_ATTRIBUTE and one.argument == "data" for one in reading_of(code).operations
    )


def _codes(machine: Machine) -> Iterator[CodeType]:
    for generator in machine.generators:
        suspended = generator.frame
        if not generator.finished and isinstance(suspended, SymbolicGenerator):
            yield suspended.frame.code
    for frame in machine.frames:
        yield frame.code
        for value in (*frame.stack, *variables_of(frame)):
            yield from _codes_of(real_object(value))


def _codes_of(value: object) -> Iterator[CodeType]:
    """What runs when a generator, a function, or the exit of a context manager goes on."""
    owner = value.__self__ if type(value) is MethodType else value
    function = value.__func__ if type(value) is MethodType else value
    if type(function) is FunctionType:
        yield function.__code__
    # what the standard library keeps in it: no code of the user's class runs
    if derives(type(owner), _GeneratorContextManagerBase):
        owner = object.__getattribute__(owner, "__dict__").get("gen")
    if type(owner) is GeneratorType:
        yield owner.gi_code
