"""Statements with a body: loops, `try`/`except`, `try`/`finally`, `with`.

Each is a context manager of Python around what writes the body. Stack conventions are CPython's: inside a
handler `[previous, exception]` lie on top, inside a loop the iterator, inside `with` the `__exit__`. Single jumps and
branches are in `emitting.jumps`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting.jumps import jump, jump_if
from framesmith.bytecode.emitting.variables import delete, load_constant, store
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import AFTER_LOOP, KINDS, NUMBERS, VERSION, ArgumentKind
from framesmith.bytecode.operation_tables import ITERATOR_SLOTS

_EXIT_SLOTS: Final = 2 if VERSION >= (3, 14) else 1
"""`__exit__` is one slot, a bound method, or from 3.14 on two, as a method that is called: function and `self`, or NULL."""

Write = Callable[[], None]


@final
@dataclass(frozen=True, slots=True)
class Loop:
    """Where to go from inside: `start` with the iterator on top; `after` once it is dropped."""

    start: Instruction
    after: Instruction


@contextmanager
def for_loop(emitter: Emitter) -> Iterator[Loop]:
    """Loop over the iterable on top; the body begins with the next value on top and must use it up."""
    emitter.emit("GET_ITER", 0 if KINDS["GET_ITER"] is ArgumentKind.NUMBER else None)
    loop = Loop(emitter.label(), emitter.label())
    # FOR_ITER has to lead to END_FOR itself, which CPython skips by its place, and not to a NOP in front of it.
    exhausted = (
        emitter.label() if "END_FOR" not in NUMBERS else Instruction("END_FOR", position=emitter.position)
    )
    emitter.place_label(loop.start)
    emitter.emit("FOR_ITER", None, exhausted)
    yield loop
    if emitter.depth is not None:
        emitter.emit("JUMP_BACKWARD", None, loop.start)
    emitter.place_label(exhausted)
    if "END_FOR" in NUMBERS:
        # The first, END_FOR, is the label that was just placed.
        for name in AFTER_LOOP[1:]:
            emitter.emit(name)
    emitter.place_label(loop.after)


def leave_for_loop(emitter: Emitter, loop: Loop) -> None:
    """`break`: drop the iterator, which is on top, and go on behind the loop."""
    for _ in range(ITERATOR_SLOTS):
        emitter.emit("POP_TOP")
    jump(emitter, loop.after)


@contextmanager
def while_loop(emitter: Emitter) -> Iterator[Loop]:
    """Loop for ever; the body jumps to `after` to leave the loop."""
    loop = Loop(emitter.label(), emitter.label())
    emitter.place_label(loop.start)
    yield loop
    if emitter.depth is not None:
        emitter.emit("JUMP_BACKWARD", None, loop.start)
    emitter.place_label(loop.after)


def try_except(
    emitter: Emitter, body: Write, *, kind: Write | None, handler: Write, name: str | None = None
) -> None:
    """`try: body` / `except kind as name: handler`.

    `kind` pushes what to match, None for everything. Body and handler leave the depth as it was.
    """
    caught, clean, done = emitter.label(), emitter.label(), emitter.label()
    with emitter.region(caught):
        body()
    if emitter.depth is not None:
        jump(emitter, done)
    emitter.place_label(caught)
    outside = emitter.known_depth() - 1
    # What goes wrong inside the handler finds [previous, offset, exception].
    emitter.expect_depth(clean, outside + 3)
    with emitter.region(clean, depth=outside + 1, push_lasti=True):
        _handler(emitter, kind, handler, name, done)
    emitter.place_label(clean)
    _give_back(emitter)
    emitter.place_label(done)


def _handler(
    emitter: Emitter, kind: Write | None, handler: Write, name: str | None, done: Instruction
) -> None:
    no_match = emitter.label()
    # The region cuts the stack to [previous], and that slot holds the exception itself up to here.
    with emitter.outside_region():
        emitter.emit("PUSH_EXC_INFO")
    if kind is not None:
        kind()
        emitter.emit("CHECK_EXC_MATCH")
        _jump_if_false(emitter, no_match)
    if name is None:
        emitter.emit("POP_TOP")
        handler()
    else:
        store(emitter, name)
        unbind = emitter.label()
        with emitter.region(unbind, push_lasti=True):
            handler()
        if emitter.depth is not None:
            _leave_handler(emitter, name, done)
        emitter.place_label(unbind)
        _unbind(emitter, name)
        emitter.emit("RERAISE", 1)
    if emitter.depth is not None:
        _leave_handler(emitter, None, done)
    if kind is not None:
        emitter.place_label(no_match)
        emitter.emit("RERAISE", 0)


def _jump_if_false(emitter: Emitter, label: Instruction) -> None:
    # CHECK_EXC_MATCH leaves a bool, which 3.13 need not be told.
    emitter.emit("POP_JUMP_FORWARD_IF_FALSE" if VERSION < (3, 12) else "POP_JUMP_IF_FALSE", None, label)


def _leave_handler(emitter: Emitter, name: str | None, done: Instruction) -> None:
    # Behind POP_EXCEPT the slot [previous] that the region counts is gone.
    with emitter.outside_region():
        emitter.emit("POP_EXCEPT")
        if name is not None:
            _unbind(emitter, name)
        jump(emitter, done)


def _unbind(emitter: Emitter, name: str) -> None:
    load_constant(emitter, None)
    store(emitter, name)
    delete(emitter, name)


def _give_back(emitter: Emitter) -> None:
    """`[previous, offset, exception]`: make the previous exception current and go on raising."""
    emitter.emit("COPY", 3)
    emitter.emit("POP_EXCEPT")
    emitter.emit("RERAISE", 1)


def try_finally(emitter: Emitter, body: Write, final_: Write) -> None:
    """`try: body` / `finally: final_`; `final_` is written twice. Neither changes the depth."""
    caught, clean, done = emitter.label(), emitter.label(), emitter.label()
    with emitter.region(caught):
        body()
    if emitter.depth is not None:
        final_()
        jump(emitter, done)
    emitter.place_label(caught)
    outside = emitter.known_depth() - 1
    emitter.emit("PUSH_EXC_INFO")
    with emitter.region(clean, depth=outside + 1, push_lasti=True):
        final_()
        emitter.emit("RERAISE", 0)
    emitter.place_label(clean)
    _give_back(emitter)
    emitter.place_label(done)


def with_block(emitter: Emitter, body: Write) -> None:
    """`with <top>: body`. The body begins with what `__enter__` gave on top and must use it up."""
    caught, clean, done = emitter.label(), emitter.label(), emitter.label()
    swallowed = emitter.label()
    outside = emitter.known_depth() - 1
    _enter(emitter)
    with emitter.region(caught, depth=outside + _EXIT_SLOTS, push_lasti=True):
        body()
    if emitter.depth is not None:
        _exit_normally(emitter)
        jump(emitter, done)
    emitter.place_label(caught)
    emitter.emit("PUSH_EXC_INFO")
    with emitter.region(clean, depth=outside + _EXIT_SLOTS + 2, push_lasti=True):
        emitter.emit("WITH_EXCEPT_START")
        # [exit, offset, previous, exception, what `__exit__` returned]
        jump_if(emitter, True, swallowed)
        # The offset is two slots below the exception.
        emitter.emit("RERAISE", 2)
        emitter.place_label(swallowed)
        emitter.emit("POP_TOP")
    emitter.emit("POP_EXCEPT")
    # What is left: `__exit__` and the offset.
    for _ in range(1 + _EXIT_SLOTS):
        emitter.emit("POP_TOP")
    jump(emitter, done)
    emitter.place_label(clean)
    _give_back(emitter)
    emitter.place_label(done)


def _enter(emitter: Emitter) -> None:
    """`manager -> __exit__, what __enter__ returned`."""
    if "BEFORE_WITH" in NUMBERS:
        emitter.emit("BEFORE_WITH")
        return
    # LOAD_SPECIAL makes [manager, exit, self] of it, the swaps [exit, self, manager].
    emitter.emit("COPY", 1)
    emitter.emit("LOAD_SPECIAL", "__exit__")
    emitter.emit("SWAP", 2)
    emitter.emit("SWAP", 3)
    emitter.emit("LOAD_SPECIAL", "__enter__")
    emitter.emit("CALL", 0)


def _exit_normally(emitter: Emitter) -> None:
    """Call the `__exit__` on top with three Nones, as CPython's compiler does: it is in the slot of the callable."""
    if VERSION >= (3, 13):
        if _EXIT_SLOTS == 1:
            emitter.emit("PUSH_NULL")
        for _ in range(3):
            load_constant(emitter, None)
        emitter.emit("CALL", 3)
    else:
        # [exit, None, None, None] with 2 arguments: the first None counts as the method's self.
        for _ in range(3):
            load_constant(emitter, None)
        if "PRECALL" in NUMBERS:
            emitter.emit("PRECALL", 2)
        emitter.emit("CALL", 2)
    emitter.emit("POP_TOP")
