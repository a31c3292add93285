"""The version-neutral reading of a code object: what each instruction does, in a vocabulary that is the same on every Python.

Which operations come of a function, and how many slots they take, follows the code of the Python that runs.
`read` is the entry point. A symbolic interpreter steps over `Reading.operations`; its stack mirrors
the native one slot for slot. Which instruction gives which operations is a table (`operation_tables`).

Things a reader of operations has to know:

- A name that is both among `co_varnames` and `co_cellvars` is one slot of the frame: it holds a plain value until
  MAKE_CELL turns it into a cell, and LOAD_LOCAL_AND_CLEAR / STORE_LOCAL save and put back
  whatever it holds, which is how an inlined comprehension (3.12) hides an outer variable.
- SEND(slots): receiver, NULL where `slots` is 2, and value on the stack; if the receiver goes on, its result replaces
  the value and the next operation (a YIELD) runs; when it returns, the result replaces the value and the jump is taken,
  the receiver being dropped first where the argument is 0 (3.11), by END_SEND later where it is not.
- FOR_ITER leads past END_FOR (3.12) and the POPs behind it (3.13): those operations are never executed.
- An iterator in a loop is one slot, or two (3.15), the second of which is NULL; natively it may be a number, beside a list or tuple.
"""

from types import CodeType
from typing import Final, final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import UnknownOpcode, require_argument, require_code
from framesmith.bytecode.instruction import Instruction, Position
from framesmith.bytecode.opcodes import NULL_FIRST, VERSION
from framesmith.bytecode.operation import NO_FALL_THROUGH, Handler, Kind, Operation
from framesmith.bytecode.operation_effects import effect
from framesmith.bytecode.operation_liveness import live_before
from framesmith.bytecode.operation_tables import FIXED, PASSED, RULES, Step

__all__ = [
    "NULL_FIRST",
    "Handler",
    "Kind",
    "Operation",
    "Position",
    "Reading",
    "closure_loads",
    "read",
    "read_parts",
    "stack_depths",
]

_CLOSURES_BY_LOAD_FAST: Final = VERSION >= (3, 13)
_CLOSURE_FLAG: Final = 8
_LOADS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW"})
# From 3.13 on an instruction that drops the iterator follows; our FOR_ITER has dropped it when it jumps.
_AFTER_END_FOR: Final = 2 if VERSION >= (3, 13) else 1


@final
class Reading:
    """A code object as operations. Immutable; liveness is computed on first use.

    It does not hold the code object, so that a cache of readings does not keep code alive.
    `handlers[i]` is the exception handler in force at operation `i`, None for none.
    """

    __slots__ = ("_first", "_live", "handlers", "operations")

    def __init__(
        self,
        operations: tuple[Operation, ...],
        handlers: tuple[Handler | None, ...],
        first: list[int],
    ) -> None:
        self.operations = operations
        self.handlers = handlers
        self._first = first
        self._live: list[frozenset[str]] | None = None

    def first_operation_of(self, instruction_index: int) -> int:
        """Index of the first operation of a native instruction; if it has none, of the next one that has any."""
        return self._first[instruction_index]

    def live_locals(self, index: int) -> frozenset[str]:
        """Names of fast locals that may be read, deleted or saved at or after operation `index`."""
        if self._live is None:
            self._live = live_before(self.operations, self.handlers)
        return self._live[index]

    def is_in_loop(self, index: int) -> bool:
        """Whether operation `index` or a later one jumps back to it or to an earlier one."""
        return any(
            operation.target is not None and operation.target <= index
            for operation in self.operations[index:]
        )


def read(code: CodeType) -> Reading:
    """The reading of `code`; raises UnknownOpcode for an instruction that the tables do not know."""
    require_code("read()", code)
    return read_parts(disassemble(code))


def read_parts(parts: CodeParts) -> Reading:
    """The same for the parts of a code object."""
    steps: list[tuple[int, Kind, object]] = []
    first: list[int] = []
    closures = closure_loads(parts)
    keywords: tuple[str, ...] = ()
    for index, instruction in enumerate(parts.instructions):
        first.append(len(steps))
        name = instruction.name
        kind = PASSED.get(name)
        if kind is not None:
            if instruction in closures:
                kind = Kind.LOAD_CLOSURE
            steps.append((index, kind, instruction.argument))
            continue
        if name == "CALL":
            argc = instruction.argument or 0
            steps.append((index, Kind.CALL, (argc, keywords)))
            keywords = ()
            continue
        # 3.11 and 3.12: it holds for the next CALL, and PRECALL may stand between.
        if name == "KW_NAMES":
            assert isinstance(instruction.argument, tuple)
            keywords = instruction.argument
            continue
        for kind, argument in _rows(instruction, parts, index):
            steps.append((index, kind, argument))
    first.append(len(steps))
    targets = _targets(parts, first)
    instructions = parts.instructions
    operations = tuple(
        [
            Operation(kind, argument, targets.get(index), index, instructions[index].position)
            for index, kind, argument in steps
        ]
    )
    return Reading(operations, _handlers(parts, first), first)


def steps_of(instruction: Instruction, parts: CodeParts, index: int) -> tuple[Step, ...]:
    """The operations of one instruction; those of a CALL without the names of keywords, and all LOAD_FAST of locals."""
    name = instruction.name
    kind = PASSED.get(name)
    if kind is not None:
        return ((kind, instruction.argument),)
    if name == "CALL":
        return ((Kind.CALL, (instruction.argument or 0, ())),)
    return () if name == "KW_NAMES" else _rows(instruction, parts, index)


def _rows(instruction: Instruction, parts: CodeParts, index: int) -> tuple[Step, ...]:
    name = instruction.name
    fixed = FIXED.get(name)
    if fixed is not None:
        return fixed
    rule = RULES.get(name)
    if rule is None:
        raise UnknownOpcode(name, f"instruction {index}", f"{parts.qualname} ({parts.filename})")
    return rule(instruction)


def _targets(parts: CodeParts, first: list[int]) -> dict[int, int]:
    """Instruction index of each jump -> operation index it leads to."""
    index_of: dict[Instruction, int] | None = None
    found: dict[int, int] = {}
    for index, instruction in enumerate(parts.instructions):
        if instruction.target is not None:
            if index_of is None:
                index_of = parts.instruction_indices()
            target = index_of[instruction.target]
            if instruction.name == "FOR_ITER" and instruction.target.name == "END_FOR":
                target += _AFTER_END_FOR  # CPython skips them too: they clean up after the specialized loop over a generator
            found[index] = first[target]
    return found


def _handlers(parts: CodeParts, first: list[int]) -> tuple[Handler | None, ...]:
    handlers: list[Handler | None] = [None] * first[-1]
    if not parts.regions:
        return tuple(handlers)
    index_of = parts.instruction_indices()
    for region in parts.regions:
        handler = Handler(first[index_of[region.target]], region.depth, region.push_lasti)
        start = first[index_of[region.start]]
        end = first[-1] if region.end is None else first[index_of[region.end]]
        handlers[start:end] = [handler] * (end - start)
    return tuple(handlers)


def closure_loads(parts: CodeParts) -> frozenset[Instruction]:
    """LOAD_FAST instructions that push a cell, from 3.13 on (LOAD_FAST_BORROW from 3.14 on).

    A slot that is no local at all can hold nothing else. Where the name is an ordinary local too (an argument that is a
    cell, or the variable of an inlined comprehension that hides a cell), a cell is pushed only to build the
    closure of a function: BUILD_TUPLE, LOAD_CONST code, MAKE_FUNCTION, SET_FUNCTION_ATTRIBUTE 8.
    """
    if not _CLOSURES_BY_LOAD_FAST or not (parts.cellvars or parts.freevars):
        return frozenset()
    own, shared = len(parts.varnames), set(parts.varnames) & set(parts.cellvars)
    found: set[Instruction] = set()
    for index, instruction in enumerate(parts.instructions):
        if instruction.name in _LOADS and instruction.hint >= own:
            found.add(instruction)
        elif (
            shared and instruction.name == "SET_FUNCTION_ATTRIBUTE" and instruction.argument == _CLOSURE_FLAG
        ):
            # Of several attributes CPython's compiler sets the closure first, so MAKE_FUNCTION is just before.
            build = parts.instructions[index - 3] if index >= 3 else None
            if build is not None and build.name == "BUILD_TUPLE" and isinstance(build.argument, int):
                found.update(parts.instructions[index - 3 - build.argument : index - 3])
    return frozenset(one for one in found if one.name in _LOADS)


def stack_depths(reading: Reading) -> tuple[int | None, ...]:
    """Depth of the stack before each operation, None for what is never reached."""
    require_argument("stack_depths()", reading, Reading, "no Reading", "pass what read(code) gives")
    operations, handlers = reading.operations, reading.handlers
    found: list[int | None] = [None] * len(operations)
    todo = [(0, 0)]
    while todo:
        index, depth = todo.pop()
        # The first path counts: in valid code all agree.
        while index < len(operations) and found[index] is None:
            found[index] = depth
            operation = operations[index]
            handler = handlers[index]
            if handler is not None and found[handler.target] is None:
                todo.append((handler.target, handler.depth + handler.push_lasti + 1))
            if operation.target is not None:
                todo.append((operation.target, depth + effect(operation, jump=True)))
            if operation.kind in NO_FALL_THROUGH:
                break
            depth += effect(operation)
            index += 1
    return tuple(found)
