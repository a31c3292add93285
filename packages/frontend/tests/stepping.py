"""A machine for tests: text assembled to code, a frame of it in a real trace, and operations run one by one."""

from collections.abc import Mapping
from types import CodeType, FunctionType

from framesmith.bytecode import assemble, read_text
from framesmith.bytecode.opcodes import KINDS, ArgumentKind
from framesmith.frontend.build_entry import Trace, prepare_trace
from framesmith.frontend.cache.specialization import Policy
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.tracing.machine import Frame, Machine, new_frame
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.guards.sources import Local
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.core import Tracker
from framesmith.variables.core.wrap_rules import lazy

OPTIONS = CompileOptions(backend="eager")


def assembled(text: str, *, parameters: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> CodeType:
    """Code of native instructions, one a line, with literal arguments; jumps lead to labels (`L0: NOP`).

    A number is 0 where none is written: GET_ITER takes one from 3.15 on.
    """
    head = [
        "code f",
        "  filename 'user.py'",
        f"  varnames {[*parameters, *names]!r}",
        f"  argcount {len(parameters)}",
    ]
    lines = [line if line.startswith("L") and ":" in line else f"    {line}" for line in text.split("\n")]
    parts = read_text("\n".join([*head, *lines]) + "\n")
    for instruction in parts.instructions:
        if KINDS[instruction.name] is ArgumentKind.NUMBER and instruction.argument is None:
            instruction.argument = 0
    return assemble(parts)


def trace_of(code: CodeType, **values: object) -> Trace:
    """A trace with one frame of this code at its first instruction; `values` are its arguments, not yet read."""
    trace = prepare_trace(code, OPTIONS, Policy(None), None)
    arguments = {name: lazy(trace.tx, value, Local(name)) for name, value in values.items()}
    cells = tuple(CellTracker() for _ in code.co_freevars)
    frame = new_frame(code, namespace_of(trace.tx, {}), arguments, cells)
    frame.barrier = True
    trace.machine.frames.append(frame)
    return trace


def step(machine: Machine, count: int = 1) -> Frame:
    """Run operations of the innermost frame; returns the frame that is the innermost then."""
    for _ in range(count):
        frame = machine.frame
        frame.current = frame.index
        frame.index += 1
        OPCODES.steps[frame.operation.kind](machine, frame.operation)
    return machine.frame


def run_to_end(text: str, values: Mapping[str, object] | None = None, **more: tuple[str, ...]) -> Tracker:
    """What assembled text returns, as a tracker."""
    values = values or {}
    trace = trace_of(assembled(text, parameters=tuple(values), **more), **values)
    end = trace.interpreter.run()
    return end.value.realize()


def frame_at(function: FunctionType, line: int, **values: object) -> Trace:
    """A trace of a function, run up to the first operation of a line, counted from its `def`."""
    trace = trace_of(function.__code__, **values)
    machine = trace.machine
    first = function.__code__.co_firstlineno
    while machine.frame.reading.operations[machine.frame.index].position.line != first + line:
        step(machine)
    return trace
