"""Texts about the values of a compiled unit in the words of the user's program.

local_1_hidden, cell_0_scale        the variables `hidden` and `scale`
stack_0_1                           the expression that computed it: `random.random()`
args[0] of Module._call_impl        the parameter `x` of `Net.forward`
args[0] below @torch.no_grad()      the parameter `x` of the decorated function
program.helper, in program.py       the global `helper`

The texts of sources themselves are in `guards.sources`.
"""

import inspect
import re
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import Final, final

import torch

from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.trace_start import ContinuationStart, FunctionStart
from framesmith.frontend.errors import DynamicSizeFixed
from framesmith.frontend.tracing.frame_layout import FrameLayout
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.tracing.stack_expressions import stack_expression
from framesmith.frontend.user_lines import function_text, is_library_file, place_text

_VARIABLE: Final = re.compile(r"\b(?:local_\d+_(\w+)|cell_\d+_(\w+?)(\.cell_contents\b|\b))")
_ON_STACK: Final = re.compile(r"\bstack_(\d+)_(\d+)\b")
_OTHERS: Final = re.compile(r"\b(?:result|default)_\d+\b")
_HIDDEN: Final = re.compile(r"\bhidden_[0-9a-f]+\b")
_POSITIONAL: Final = re.compile(r"\bargs\[(\d+)\]")
_BY_KEYWORD: Final = re.compile(r"\bkwargs\['(\w+)'\]")
# not `*args` of a call, and not an attribute of that name
_ALL_ARGUMENTS: Final = re.compile(r"(?<![\w*./\\'\"-])(?:args|kwargs)\b(?![/\\'\"-])")
_WORDS: Final = {"args": "the positional arguments", "kwargs": "the keyword arguments"}
_UNNAMED: Final = "an intermediate value"
_BETWEEN: Final = "\x1f"  # the separator of units in ASCII, which no text of a guard has


@final
class UserNames:
    """How the function of a compiled unit and its values are called in messages."""

    def __init__(self, start: FunctionStart | ContinuationStart, definition: MethodDefinition | None) -> None:
        self._frames: Sequence[FrameLayout] = () if isinstance(start, FunctionStart) else start.point.frames
        self._own = str(start.namespace.get("__name__", ""))
        forward = _forward_of(definition)
        self._behind = _decorated_by(start) if forward is None else forward
        # `args` of `_call_impl` begins behind `self`
        self._skipped = 0 if forward is None else 1
        self.code: CodeType = start.code if self._behind is None else self._behind.__code__
        cls = None if definition is None else definition.cls
        self.function = (
            self.code.co_qualname if forward is None or cls is None else f"{cls.__qualname__}.forward"
        )

    @property
    def begins(self) -> str:
        """Where the unit begins, for messages: the function's first line, or where its innermost frame resumes."""
        if not self._frames:
            return f"({self.code.co_filename}:{self.code.co_firstlineno})"
        layout = self._frames[-1]
        operations = reading_of(layout.code).operations
        line = operations[min(layout.index, len(operations) - 1)].position.line or layout.code.co_firstlineno
        return f"resumed at {place_text(layout.code.co_filename, line, layout.code.co_name)}"

    def text(self, text: str) -> str:
        """A message about values of the unit."""
        if self._frames:  # only a continuation begins with such variables
            text = _ON_STACK.sub(lambda found: self._expression(int(found[1]), int(found[2])), text)
            text = _OTHERS.sub(_UNNAMED, _VARIABLE.sub(_variable_text, text))
            text = _HIDDEN.sub(_UNNAMED, text)
        if self._behind is not None:
            # single arguments first: what is left of `args` then is the tuple itself
            text = _POSITIONAL.sub(lambda found: self._parameter(int(found[1])) or found[0], text)
            text = _BY_KEYWORD.sub(r"\1", text)
            text = _ALL_ARGUMENTS.sub(lambda found: _WORDS[found[0]], text)
        if not self._own or f"{self._own}." not in text:
            return text
        # not inside of a path, and not where a text begins that the program compares with
        return re.sub(rf"(?<![\w./\\'\"-]){re.escape(self._own)}\.(?=\w)", "", text)

    def rename(self, error: DynamicSizeFixed, said_by: Sequence[str] = ("mark_dynamic",)) -> DynamicSizeFixed:
        """The same error in the words of the user's program. `said_by`: what said that the sizes differ."""
        problems = [self.text(problem) for problem in error.problems]
        return DynamicSizeFixed(function_text(self.function, self.code), problems, said_by)

    def texts(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Several messages, searched as one: a model has thousands of guards."""
        joined = _BETWEEN.join(texts)
        return tuple(self.text(joined).split(_BETWEEN)) if joined else ()

    def _expression(self, depth: int, slot: int) -> str:
        if depth >= len(self._frames):
            return _UNNAMED
        layout = self._frames[depth]
        return stack_expression(layout.code, layout.index, slot) or _UNNAMED

    def _parameter(self, index: int) -> str | None:
        assert self._behind is not None
        names = [
            one.name
            for one in inspect.signature(self._behind).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        index += self._skipped
        return names[index] if index < len(names) else None


def _variable_text(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return found[2] if found[3] else f"the cell of {found[2]}"


def _forward_of(definition: MethodDefinition | None) -> FunctionType | None:
    """The `forward` that a compiled module runs, where it is a Python function."""
    if definition is None or not issubclass(definition.cls, torch.nn.Module):
        return None
    # a decorator that sets `__wrapped__` has parameters `*args, **kwargs`: the names wanted are those behind it
    found = inspect.getattr_static(definition.cls, "forward", None)
    behind = inspect.unwrap(found) if isinstance(found, FunctionType) else None
    return behind if isinstance(behind, FunctionType) else None


def _decorated_by(start: FunctionStart | ContinuationStart) -> FunctionType | None:
    """The function that a library's wrapper of `*args, **kwargs` hands its arguments to as they are, as that of
    `torch.no_grad()` does. A wrapper of the program may hand over others, so it goes by its own names."""
    if not isinstance(start, FunctionStart) or start.definition is not None:
        return None
    found = start.function
    while (
        is_library_file(found.__code__.co_filename)
        and not found.__code__.co_argcount + found.__code__.co_kwonlyargcount
        and type(behind := vars(found).get("__wrapped__")) is FunctionType
    ):
        found = behind
    return None if found is start.function else found
