"""Native continuations: code that goes on in the middle of a function.

`resume_function(code, operation_index, layout)` is the code object of a function that takes what was on the
stack and in the locals, puts it back, and goes on at that operation, in whatever loop, `with`,
`try` or handler it is. The body is the user's, instruction for instruction; a prologue goes before it:

    COPY_FREE_VARS                          cells come in as the closure
    MAKE_CELL x; LOAD_CLOSURE; STORE_FAST x  and are local variables again
    RETURN_GENERATOR; POP_TOP               where the original is a generator
    RESUME
    <unpack the list of arguments, empty it>  where they are packed
    <push the stack, bottom first>
    JUMP_FORWARD <the operation>

**The stack.** `ResumeLayout.stack` has one item per native slot, except EXCEPTION, which covers two. `stack_contents.stack_items`
gives one that fits each operation; in place of EXCEPTION it has HANDLED and VALUE, and the exception is passed for both.

- VALUE: any object, the iterator of a loop and the `__exit__` of a `with` included. The offset which an exception table
  entry with `lasti` leaves below the exception is a VALUE too; what is passed for it is
  ignored, since it has to be an offset in the new code.
- NULL: takes no argument.
- EXCEPTION: the slots `[previous, current]` that PUSH_EXC_INFO leaves at the top of a handler; the argument is the current exception.
- HANDLED: the one slot `[previous]` that is left in the body of an `except` clause after the exception
  has been matched, bound or popped; the argument is again the exception being handled, or None where POP_EXCEPT has run
  and the slot only waits to be dropped.

For the last two the exception is raised (by RERAISE, which touches neither `__traceback__` nor `__context__`) into
a handler of the prologue, so that `sys.exc_info()`, a bare `raise` and the context of new exceptions
are right; POP_EXCEPT then restores what the *caller* was handling.

**Packed arguments.** The caller of a function may hold the arguments until it returns: CPython does where something in the
process evaluates frames (PEP 523). With `ResumeLayout.packed` they come in one list, which the prologue empties: so only this frame
holds them, and each ends where the user's function lets go of it.

**Generators.** Calling the function gives a generator that goes on at the operation when it is first run.
If the operation is a YIELD, with the value to be yielded on top of the stack, one `next()` leaves it suspended
exactly there, ready for `send`, `throw` and `close`.

**Not here**: which values to pass (the caller knows), and bodies of modules and classes, which have no frame of their own.
"""

import inspect
from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.bytecode import cleanup
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting.jumps import jump, jump_if_none
from framesmith.bytecode.errors import ResumeError, require_argument, require_code, require_items
from framesmith.bytecode.instruction import ExceptionRegion, Instruction
from framesmith.bytecode.meaning import Kind, Operation, Reading, read, stack_depths
from framesmith.bytecode.opcodes import CLOSURE_LOAD
from framesmith.bytecode.slots import renumber, split_wide_pairs
from framesmith.bytecode.stack_contents import Content, StackItem, stack_contents
from framesmith.bytecode.supers import make_arguments_explicit

__all__ = ["ResumeLayout", "StackItem", "resume_function"]

_STAR_FLAGS: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_PACKED: Final = ".values"
_GENERATOR_FLAGS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


_CERTAIN: Final = frozenset({Content.VALUE, Content.NULL})
_SIZES: Final = {StackItem.VALUE: 1, StackItem.NULL: 1, StackItem.EXCEPTION: 2, StackItem.HANDLED: 1}


@final
@dataclass(frozen=True)
class ResumeLayout:
    """What the arguments of a continuation are: stack items, then bound locals, then an exception to raise.

    `packed`: they come in one list, which the function empties.
    """

    stack: tuple[StackItem, ...]
    locals: tuple[str, ...]
    raises: bool = False
    packed: bool = False

    def __post_init__(self) -> None:
        remedy = "pass stack_items(code)[operation_index], or (StackItem.VALUE,)"
        require_items("ResumeLayout()", self.stack, (tuple, StackItem), "no tuple of StackItem", remedy)
        remedy = "pass the locals that are arguments, as in ('x',)"
        require_items("ResumeLayout()", self.locals, (tuple, str), "no tuple of names", remedy)


def resume_function(code: CodeType, operation_index: int, layout: ResumeLayout) -> CodeType:
    """Code of a function that goes on at `operation_index` of `meaning.read(code)`: a native continuation (ADR 0005).

    Positional arguments, or items of the list that is the only one: the stack values bottom first, NULLs left out; the values of
    `layout.locals`; with `layout.raises`, an exception that is raised at the operation instead of running it. Free variables:
    those of `code`, then its cells. Raises ResumeError if the operation or the layout does not fit the code.
    """
    require_code("resume_function()", code)
    remedy = "pass the index of one of read(code).operations"
    require_argument("resume_function()", operation_index, int, "no index", remedy)
    remedy = "pass ResumeLayout(stack_items(code)[operation_index], names)"
    require_argument("resume_function()", layout, ResumeLayout, "no ResumeLayout", remedy)
    reading = read(code)
    parts = disassemble(code)
    _check(code, reading, parts, operation_index, layout)
    contents = stack_contents(code, reading)[operation_index] or ()
    _check_nulls(code, operation_index, layout, contents)
    body, regions = parts.instructions, parts.regions
    parts.instructions, parts.regions = [], []
    # A program cannot write such a name, and those that CPython makes (`.0`, `.type_params`) are others.
    stack_names = tuple(f".stack{i}" for i, slot in enumerate(layout.stack) if slot is not StackItem.NULL)
    given, doubled = _become_function(parts, body, stack_names, layout)
    operation = reading.operations[operation_index]
    emitter = Emitter(parts)
    emitter.position = operation.position
    # Not our slots `.x`, which are never made. The dot does not tell them: `.type_params` is a cell of CPython's.
    _enter(emitter, [name for name in parts.cellvars if name in code.co_cellvars])
    if layout.packed:
        _unpack_arguments(emitter, given)
    _push_stack(emitter, layout, contents, list(stack_names))
    # The body has such a variable in the slot `.x`, see `_become_function`: that is where its cell has to be.
    for name in doubled:
        emitter.emit("LOAD_FAST", name)
        emitter.emit("STORE_FAST", f".{name}")
    _go_on(emitter, reading, operation_index, layout, body)
    emitter.finish()
    first = code.co_varnames[0] if code.co_argcount and "__class__" in code.co_freevars else None
    # `self` is not in the first slot any more, where super() without arguments looks for it.
    if first in layout.locals or first in code.co_cellvars:
        body = make_arguments_explicit(parts, body, str(first))
    _append_body(parts, body, regions)
    split_wide_pairs(parts)
    # The part of the body before the operation, unless a loop leads back to it.
    cleanup.remove_unreachable(parts)
    return assemble(parts)


def _check(code: CodeType, reading: Reading, parts: CodeParts, index: int, layout: ResumeLayout) -> None:
    if not code.co_flags & inspect.CO_OPTIMIZED:
        raise ResumeError(f"{code.co_qualname} is the body of a class or a module, it cannot be continued")
    if not 0 <= index < len(reading.operations):
        raise ResumeError(f"{code.co_qualname} has {len(reading.operations)} operations, no number {index}")
    # behind RETURN_GENERATOR where there is one: a generator expression of 3.15 has a RESUME before it as well
    names = [one.name for one in parts.instructions]
    makes = names.index("RETURN_GENERATOR") if "RETURN_GENERATOR" in names else 0
    starts = names.index("RESUME", makes) if "RESUME" in names[makes:] else 0
    if reading.operations[index].instruction < starts:
        raise ResumeError(f"operation {index} of {code.co_qualname} stands before its start; call it anew")
    depth = stack_depths(reading)[index]
    if depth is None:
        raise ResumeError(
            f"operation {index} ({reading.operations[index].kind}) of {code.co_qualname} is never reached"
        )
    given = sum(_SIZES[slot] for slot in layout.stack)
    if depth != given:
        operation = reading.operations[index]
        raise ResumeError(
            f"operation {index} ({operation.kind}, line {operation.position.line}) of {code.co_qualname} "
            f"has {depth} stack items, the layout gives {given}"
        )
    known = {*code.co_varnames, *code.co_cellvars}
    unknown = [name for name in layout.locals if name not in known]
    if unknown:
        raise ResumeError(f"{code.co_qualname} has no local named {', '.join(unknown)}")
    # Inside an inlined comprehension the slot of such a cell holds the variable of the comprehension (3.12).
    saved = {one.argument for one in parts.instructions if one.name == "LOAD_FAST_AND_CLEAR"}
    shared = [name for name in layout.locals if name in code.co_cellvars and name not in saved]
    if shared:
        raise ResumeError(
            f"{', '.join(shared)} of {code.co_qualname}: a cell goes into the closure, it is no argument"
        )


def _check_nulls(code: CodeType, index: int, layout: ResumeLayout, contents: tuple[Content, ...]) -> None:
    """Raises ResumeError where the layout has a value in place of a NULL or the other way round, which CPython would not survive."""
    # What is on the stack when an exception is raised only has to be dropped.
    if layout.raises:
        return
    given = [item for item in layout.stack for _ in range(_SIZES[item])]
    for slot, (item, content) in enumerate(zip(given, contents, strict=True)):
        if content in _CERTAIN and (item is StackItem.NULL) != (content is Content.NULL):
            holds = "NULL" if content is Content.NULL else "a value"
            raise ResumeError(
                f"stack item {slot} at operation {index} of {code.co_qualname} is {holds}, the layout gives {item}; "
                f"stack_items(code)[{index}] is a layout that fits"
            )


def _become_function(
    parts: CodeParts, body: list[Instruction], stack_names: tuple[str, ...], layout: ResumeLayout
) -> tuple[list[str], list[str]]:
    """Give `parts` its new signature; returns the variables that are handed over, and the cells that are to be copied to a slot of
    their own.

    The cells become free variables. One that an inlined comprehension saves and overwrites (3.12) needs a slot that may
    hold any value: code that reads the frame's locals takes what is in a free variable's slot for a cell.
    Such a variable `x` lives in the slot `.x`, formally a cell that is never made.
    """
    cells = set(parts.cellvars)
    doubled = {
        str(one.argument) for one in body if one.name == "LOAD_FAST_AND_CLEAR" and one.argument in cells
    }
    old, old_free = parts.slot_names(), len(parts.freevars)
    arguments = [*stack_names, *(f".{name}" if name in doubled else name for name in layout.locals)]
    if layout.raises:
        arguments.append(".raise")
    own = [name for name in parts.varnames if name not in cells]
    packed = [_PACKED] if layout.packed else []
    parts.varnames = [*packed, *arguments, *(name for name in own if name not in set(arguments))]
    parts.freevars = [*parts.freevars, *parts.cellvars]
    parts.cellvars = [
        *(name for name in parts.cellvars if name not in doubled),
        *(f".{name}" for name in sorted(doubled)),
    ]
    slots = parts.slot_names()
    first_free = len(slots) - len(parts.freevars)
    # Reversed, so that of two slots of one name the first is kept.
    first = {name: number for number, name in reversed(list(enumerate(slots)))}
    free = {name: first_free + number for number, name in enumerate(parts.freevars)}
    found: list[int] = []
    for index, name in enumerate(old):
        if index >= len(old) - old_free:
            found.append(free[name])
        else:
            found.append(first[f".{name}" if name in doubled else name])
    renumber(body, found, slots)
    parts.argcount, parts.posonlyargcount, parts.kwonlyargcount = len(packed or arguments), 0, 0
    # Every argument is positional: what `*args` held comes in as a local.
    parts.flags &= ~_STAR_FLAGS
    return arguments, sorted(doubled.difference(layout.locals))


def _enter(emitter: Emitter, cells: list[str]) -> None:
    """Write the prologue up to RESUME.

    Each cell is stored in a cell variable's slot as well, so that an unbound one raises UnboundLocalError as a local does.
    """
    parts = emitter.parts
    if parts.freevars:
        emitter.emit("COPY_FREE_VARS", len(parts.freevars))
    slots = parts.slot_names()
    for name in cells:
        # Of the two slots of the name the cell variable's is the first, the free variable's the last.
        emitter.emit("MAKE_CELL", name).hint = slots.index(name)
        emitter.emit(CLOSURE_LOAD, name).hint = len(slots) - 1 - slots[::-1].index(name)
        emitter.emit("STORE_FAST", name).hint = slots.index(name)
    if parts.flags & _GENERATOR_FLAGS:
        emitter.emit("RETURN_GENERATOR")
        emitter.emit("POP_TOP")
    emitter.emit("RESUME", 0)


def _unpack_arguments(emitter: Emitter, names: list[str]) -> None:
    """Take the arguments out of the list: `a, b = values; del values[:]`."""
    emitter.emit("LOAD_FAST", _PACKED)
    emitter.emit("UNPACK_SEQUENCE", len(names))
    for name in names:
        emitter.emit("STORE_FAST", name)
    emitter.emit("LOAD_FAST", _PACKED)
    emitter.emit("LOAD_CONST", None)
    emitter.emit("LOAD_CONST", None)
    emitter.emit("BUILD_SLICE", 2)
    emitter.emit("DELETE_SUBSCR")
    emitter.emit("DELETE_FAST", _PACKED)


def _push_stack(
    emitter: Emitter, layout: ResumeLayout, contents: tuple[Content, ...], names: list[str]
) -> None:
    """Push the stack values; each argument is deleted once it is pushed, so that no value lives longer than it should."""
    names.reverse()
    for slot in layout.stack:
        if slot is StackItem.NULL:
            emitter.emit("PUSH_NULL")
            continue
        name = names.pop()
        if slot is StackItem.VALUE:
            if contents[emitter.known_depth()] is Content.OFFSET:
                emitter.emit("LOAD_CONST", 0)  # the argument is an offset in the old code
            else:
                emitter.emit("LOAD_FAST", name)
            emitter.emit("DELETE_FAST", name)
            continue
        _push_handled(emitter, slot, name)


def _push_handled(emitter: Emitter, slot: StackItem, name: str) -> None:
    """Raise the argument and catch it with PUSH_EXC_INFO; None means that no exception is being handled any more."""
    nothing, handler, done = emitter.label(), emitter.label(), emitter.label()
    emitter.emit("LOAD_FAST", name)
    jump_if_none(emitter, True, nothing)
    with emitter.region(handler):
        _raise_argument(emitter, name)
    emitter.place_label(nothing)
    emitter.emit("DELETE_FAST", name)
    # None is what PUSH_EXC_INFO saves where nothing is handled.
    for _ in range(_SIZES[slot]):
        emitter.emit("LOAD_CONST", None)
    jump(emitter, done)
    emitter.place_label(handler)
    emitter.emit("PUSH_EXC_INFO")
    # Only [previous] is left there; the exception itself stays in the state of the thread.
    if slot is StackItem.HANDLED:
        emitter.emit("POP_TOP")
    emitter.place_label(done)


def _raise_argument(emitter: Emitter, name: str) -> None:
    emitter.emit("LOAD_FAST", name)
    emitter.emit("DELETE_FAST", name)
    emitter.emit("RERAISE", 0)


def _go_on(
    emitter: Emitter, reading: Reading, index: int, layout: ResumeLayout, body: list[Instruction]
) -> None:
    """Jump to the operation, or raise there; the rest of a half-done native instruction is written out.

    The jump is covered by the operation's own handler although it cannot raise: 3.13 looks up the
    handler of a call into Python code one code unit too low (`exception_unwind` after `resume_with_error` in
    Python/ceval.c), which compiled code never shows, because a call is never the first instruction of a region.
    """
    handler = reading.handlers[index]
    if handler is None:
        _finish_instruction(emitter, reading, index, layout, body)
        return
    target = body[reading.operations[handler.target].instruction]
    with emitter.region(target, depth=handler.depth, push_lasti=handler.push_lasti):
        _finish_instruction(emitter, reading, index, layout, body)


def _finish_instruction(
    emitter: Emitter, reading: Reading, index: int, layout: ResumeLayout, body: list[Instruction]
) -> None:
    if layout.raises:
        _raise_argument(emitter, ".raise")
        return
    instruction = reading.operations[index].instruction
    # In the middle of LOAD_FAST_LOAD_FAST, say, there is no instruction to jump to.
    if reading.first_operation_of(instruction) == index:
        jump(emitter, _entry(body, instruction))
        return
    while index < len(reading.operations) and reading.operations[index].instruction == instruction:
        _write(emitter, reading.operations[index])
        index += 1
    if emitter.depth is not None:
        jump(emitter, body[instruction + 1])


_SIMPLE: Final = {
    Kind.PUSH_NULL: "PUSH_NULL",
    Kind.LOAD_LOCAL: "LOAD_FAST",
    Kind.STORE_LOCAL: "STORE_FAST",
    Kind.LOAD_CONST: "LOAD_CONST",
    Kind.RETURN: "RETURN_VALUE",
}


def _write(emitter: Emitter, operation: Operation) -> None:
    """Write one operation that is not the first of its native instruction."""
    if operation.kind is Kind.LOAD_GLOBAL:
        emitter.emit("LOAD_GLOBAL", (operation.argument, 0))
        return
    name = _SIMPLE.get(operation.kind)
    if name is None:
        raise ResumeError(f"{operation.kind} cannot be reached from inside an instruction")
    emitter.emit(name, operation.argument)


def _entry(body: list[Instruction], index: int) -> Instruction:
    """The instruction to jump to in order to run instruction `index`: a call begins at its KW_NAMES or PRECALL."""
    if body[index].name in ("CALL", "PRECALL"):
        while index and body[index - 1].name in ("PRECALL", "KW_NAMES"):
            index -= 1
    return body[index]


def _append_body(parts: CodeParts, body: list[Instruction], regions: list[ExceptionRegion]) -> None:
    for region in parts.regions:
        # The end of the prologue, which is followed by the body now.
        if region.end is None:
            region.end = body[0]
    parts.instructions.extend(body)
    parts.regions.extend(regions)
