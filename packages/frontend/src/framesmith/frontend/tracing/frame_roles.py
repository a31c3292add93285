"""What a frame was entered for, and so what the outer frame does with its value or with its StopIteration.

entered for             a value                  StopIteration
a call                  is pushed                is raised in the outer frame
`for` (FOR_ITER)        is pushed                ends the loop
`next(it, default)`     is pushed                the default is pushed
`yield from` (SEND)     is yielded               its value is pushed

A generator is a frame like any callee: what it yields is its value, and its return counts as StopIteration. The symbolic
machine and the native continuation both read this table (ADR 0009).
"""

import inspect
from dataclasses import dataclass
from enum import Enum, auto
from types import CodeType
from typing import final

from framesmith.bytecode.meaning import Operation


@final
class FrameRole(Enum):
    """What a frame was entered for."""

    CALL = auto()  # an end is raised as StopIteration
    LOOP = auto()  # FOR_ITER: an end leaves the loop
    DEFAULT = auto()  # next(iterator, default): an end gives the default
    DELEGATE = auto()  # SEND: an end is the value of `yield from`


@final
@dataclass(frozen=True, slots=True)
class IterationEnd:
    """Where the outer frame resumes at an end: a jump target or None, slots dropped, and whether a value is pushed."""

    target: int | None
    drops: int
    pushes: bool


def end_of_iteration(role: FrameRole, operation: Operation) -> IterationEnd | None:
    """What an end does to the frame that runs `operation`; None where it is raised."""
    if role is FrameRole.LOOP:
        assert isinstance(operation.argument, int)
        return IterationEnd(operation.target, operation.argument, False)
    if role is FrameRole.DELEGATE:
        return IterationEnd(operation.target, 0 if operation.argument else 1, True)
    return IterationEnd(None, 0, True) if role is FrameRole.DEFAULT else None


def is_generator(code: CodeType) -> bool:
    """Whether a frame of this code belongs to a generator."""
    return bool(code.co_flags & inspect.CO_GENERATOR)
