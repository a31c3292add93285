"""Lines of the user's program in texts: which files are the user's, how a line is named, what is in it."""

import functools
import linecache
import os
import re
import sysconfig
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from types import CodeType
from typing import Final, NamedTuple

import torch

from framesmith.frontend.user_warnings import is_ours_file

TORCH: Final = os.path.dirname(torch.__file__) + os.sep
_STANDARD: Final = sysconfig.get_path("stdlib") + os.sep
_INSTALLED: Final = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))
_MOST_EQUAL: Final = 3  # as CPython's own tracebacks
_LONGEST: Final = 60
_PLACE: Final = re.compile(r"(.*):(\d+) in (.*)")


class UserLocation(NamedTuple):
    """A line of the user's program. A tuple, since torch's `loc_in_frame` is one."""

    file: str
    line: int
    function: str

    @staticmethod
    def of(code: CodeType) -> "UserLocation":
        """The first line of a function."""
        return UserLocation(code.co_filename, code.co_firstlineno, code.co_name)


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether a file belongs to torch, the standard library or this project: its lines say nothing to the user."""
    return file.startswith(TORCH) or is_ours_file(file) or is_standard_file(file)


def is_standard_file(file: str) -> bool:
    """Whether a file belongs to the standard library."""
    if file.startswith("<frozen"):
        return True
    # `site-packages` may be inside of the folder of the standard library
    return file.startswith(_STANDARD) and not any(folder in file for folder in _INSTALLED)


@functools.lru_cache(maxsize=256)
def place_text(file: str, line: int, function: str) -> str:
    """A place as texts name it: `/path/file.py:12 in forward`."""
    return f"{file}:{line} in {function}"


def function_text(name: str, code: CodeType) -> str:
    """A function as texts name it: `forward (/path/file.py:12)`."""
    return f"{name} ({code.co_filename}:{code.co_firstlineno})"


def source_line(file: str, line: int) -> str:
    """The line of source, stripped; empty where the source is not known."""
    return linecache.getline(file, line).strip()


def source_of(file: str, line: int, end_line: int, column: int, end_column: int) -> str | None:
    """The source between two places (columns are bytes, as CPython counts them), shortened to one line; None if unknown."""
    encoded = linecache.getline(file, line).encode()
    if not encoded.strip():
        return None
    cut = encoded[column:end_column] if line == end_line else encoded[column:].rstrip() + b" ..."
    text = cut.decode(errors="replace").strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def whole_source_of(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    """The source between two places, over all its lines; empty if unknown."""
    lines = [linecache.getline(file, number).encode() for number in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return b"".join(lines).decode(errors="replace")


def stack_text(stack: Sequence[UserLocation]) -> str:
    """The frames as a traceback shows them, the outermost first; of many equal ones in a row, the first three."""
    return stack_lines(stack, map(_frame_text, stack))


def stack_lines(stack: Iterable[UserLocation], texts: Iterable[str]) -> str:
    """The text of each frame, but of many equal ones in a row those of the first three."""
    lines: list[str] = []
    for _, group in groupby(zip(stack, texts, strict=True), itemgetter(0)):
        frames = [text for _, text in group]
        lines += frames[:_MOST_EQUAL]
        more = len(frames) - _MOST_EQUAL
        if more > 0:
            lines.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n")
    return "".join(lines)


def _frame_text(place: UserLocation) -> str:
    source = source_line(place.file, place.line)
    shown = f'  File "{place.file}", line {place.line}, in {place.function}\n'
    return shown + (f"    {source}\n" if source else "")


def innermost_place(stack: Sequence[UserLocation]) -> str | None:
    """The last frame that is the user's own, with its source: `/path/file.py:12 in forward: return x`."""
    own = [place for place in stack if not is_library_file(place.file)]
    return _with_source(*(own or stack)[-1]) if stack else None


def with_source(place: str) -> str:
    """A place that torch tells as text, `/path/file.py:12 in forward`, with the line of source behind it, if that is known."""
    found = _PLACE.fullmatch(place)
    return place if found is None else _with_source(found[1], int(found[2]), found[3])


def _with_source(file: str, line: int, function: str) -> str:
    place, source = place_text(file, line, function), source_line(file, line)
    return f"{place}: {source}" if source else place
