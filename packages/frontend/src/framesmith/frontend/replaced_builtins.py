"""Programs that put something else in place of a builtin for a while, as `unittest.mock.patch("builtins.int")` does.

Tracing, ours and torch's, works with builtins. While one is replaced nothing is traced: frames run natively, and what we do
for that finds the builtins as they were. Nothing here may name a builtin before they are put back.
"""

import builtins
from collections.abc import Callable
from operator import is_, itemgetter
from typing import Final, final

_FREE: Final = frozenset(
    {"breakpoint", "copyright", "credits", "exit", "help", "input", "license", "open", "print", "quit"}
)
"""Neither tracing nor what leads to a native run calls these."""

_BUILTINS: Final[dict[str, object]] = vars(builtins)
_ORIGINALS: Final[dict[str, object]] = {
    name: value
    for name, value in _BUILTINS.items()
    if callable(value)
    and (not name.startswith("_") or name in ("__build_class__", "__import__"))
    and name not in _FREE
    and not (isinstance(value, type) and issubclass(value, BaseException))
}
_READ: Final[Callable[[dict[str, object]], tuple[object, ...]]] = itemgetter(*_ORIGINALS)
_VALUES: Final = _READ(_BUILTINS)
_ABSENT: Final = object()
_all, _map, _is = all, map, is_
_aside: Final[dict[str, object]] = {}
"""What the program has put in place of builtins; empty while its own code runs."""


def _put_originals_back() -> None:
    try:
        # not `==`, which would ask what the program has put there
        if _all(_map(_is, _READ(_BUILTINS), _VALUES)):
            return
    except KeyError:  # one was deleted
        pass
    for name, value in _ORIGINALS.items():
        found = _BUILTINS.get(name, _ABSENT)
        if found is not value:
            _aside[name] = found
            _BUILTINS[name] = value


def _put_replaced_back() -> None:
    for name, value in _aside.items():
        if value is _ABSENT:
            del _BUILTINS[name]
        else:
            _BUILTINS[name] = value
    _aside.clear()


def is_any_replaced() -> bool:
    """Whether the program has replaced a builtin that tracing needs; asked inside of `OriginalBuiltins`."""
    return bool(_aside)


@final
class OriginalBuiltins:
    """A `with` block of ours: builtins are what they were when framesmith was imported."""

    __slots__ = ("_is_outermost",)

    def __enter__(self) -> None:
        self._is_outermost = not _aside
        _put_originals_back()

    def __exit__(self, *raised: object) -> None:
        if self._is_outermost:
            _put_replaced_back()


@final
class ProgramBuiltins:
    """A part of such a block that runs the program: builtins are what it has put there, and may change."""

    __slots__ = ()

    def __enter__(self) -> None:
        _put_replaced_back()

    def __exit__(self, *raised: object) -> None:
        _put_originals_back()
