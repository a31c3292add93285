"""Python text in which every path is read once: the first mention binds a temporary, the others use it.

Terms are collected with marks in the positions of sources (`\\0 7 \\0`). When all terms are known, and so how often each
source is mentioned, the marks are replaced. Temporaries are reused after their last mention. What may be evaluated
only sometimes (the right of an `or`) has to be bound before: `read_now`. This module knows no kind of guard.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import PREFIX, Constants, Path, is_attribute_name, read_global
from framesmith.guards.sources.base import Source

_MARK = "\0"
#: Path elements written into one another before a temporary is bound by a term of its own (CPython's parser gives up at 200
#: nested parentheses).
_DEEPEST = 30


@final
@dataclass(frozen=True, slots=True)
class ConditionText:
    """The finished text."""

    terms: tuple[str, ...]
    loads: tuple[str, ...]
    constants: dict[str, object]
    temporaries: tuple[str, ...]


@final
class ConditionWriter:
    """Collects terms, then writes them. It is the `Names` of a whole program."""

    def __init__(
        self, prefix: str, local_names: Mapping[str, str], dispatcher_locals: Collection[str] | None
    ) -> None:
        self._constants = Constants(prefix)
        self._local_names = local_names
        self._dispatcher_locals = None if dispatcher_locals is None else frozenset(dispatcher_locals)
        self._numbers: dict[Path, int] = {}
        self._heights: list[
            int
        ] = []  # sources written into one another, from the last one with a term of its own
        self._held: dict[Path, tuple[Path, str]] = {}
        self._lists: list[tuple[Path, Mapping[Path, int]]] = []
        self._templates: list[list[str]] = []  # text, number, text, number, ... text
        self._terms: list[list[str]] = []
        self._mentions: list[int] = []
        self._said: set[tuple[Source, Claim]] = set()
        self._loads: list[str] = []

    # --- Names -------------------------------------------------------------------------------------------------

    def source(self, source: Path) -> str:
        if source.is_direct():
            return source.expression(self)
        number = self._numbers.get(source)
        if number is None:
            holder = self._held.get(source) or self._list_with(source)
            text = source.expression(self) if holder is None else f"{self.source(holder[0])}{holder[1]}"
            template = self._split(text)
            number = self._numbers[source] = len(self._templates)
            self._templates.append(template)
            self._mentions.append(0)
            inner = [self._heights[int(one)] for one in template[1::2]]
            # A source of the greatest height gets a term of its own, so what is written from it begins at 0 again.
            self._heights.append(1 + max((height for height in inner if height < _DEEPEST), default=0))
        return f"{_MARK}{number}{_MARK}"

    def hold(self, source: Path, holder: Path, element: str) -> None:
        """From now on the source is read from another one, whose value has it: `holder[3]` for the path element `[3]`."""
        if element:
            self._held.setdefault(source, (holder, element))
        elif source not in self._numbers and holder in self._numbers:
            self._numbers[source] = self._numbers[holder]

    def hold_items(self, holder: Path, places: Mapping[Path, int]) -> None:
        """From now on these sources are read from a list, each at its place, unless something else holds them."""
        self._lists.append((holder, places))

    def _list_with(self, source: Path) -> tuple[Path, str] | None:
        """What gives a list that has the source, and the path element."""
        for holder, places in self._lists:
            place = places.get(source)
            if place is not None:
                return holder, f"[{place}]"
        return None

    def constant(self, value: object, hint: str) -> str:
        return self._constants(value, hint)

    def local(self, name: str) -> str:
        return self._local_names.get(name, name)

    def global_name(self, name: str) -> str:
        hiding = self._dispatcher_locals
        if (
            hiding is not None
            and name not in hiding
            and is_attribute_name(name)
            and not name.startswith(PREFIX)
        ):
            return name
        return f"{self.constant(read_global, 'global')}({self.constant(globals, 'globals')}(), {name!a})"

    # --- collecting --------------------------------------------------------------------------------------------

    def add(self, term: str) -> None:
        """Add a term: Python text (with marks) that has to be true."""
        self._terms.append(self._split(term))

    def is_new(self, source: Source, claim: Claim) -> bool:
        """Whether this claim comes for the first time; it is noted. Two claims may be lowered to the same one."""
        size = len(self._said)
        self._said.add((source, claim))
        return len(self._said) > size

    def read_now(self, source: Source) -> None:
        """Bind the source at this point, so that later terms may use it wherever they are evaluated."""
        text = self.source(source)
        if text.startswith(_MARK):
            self._terms.append(self._split(text))

    def preload(self, source: Source) -> None:
        """Bind the source and keep its temporary until the end: the entry uses the value."""
        self.read_now(source)
        text = self.source(source)
        # One more mention, never written, so that `_TermWriter` does not reuse the temporary.
        self._split(text)
        self._loads.append(text)

    def _split(self, text: str) -> list[str]:
        pieces = text.split(_MARK)
        for number in pieces[1::2]:
            self._mentions[int(number)] += 1
        return pieces

    # --- writing -----------------------------------------------------------------------------------------------

    def finish(self) -> ConditionText:
        """The text; the writer is of no use afterwards."""
        far = frozenset(number for number, height in enumerate(self._heights) if height == _DEEPEST)
        pen = _TermWriter(self._templates, far, self._mentions)
        for pieces in self._terms:
            pen.term(pieces)
        loads = tuple(pen.bound[int(text.strip(_MARK))] if _MARK in text else text for text in self._loads)
        return ConditionText(tuple(pen.terms), loads, self._constants.values, tuple(pen.temporaries))


@final
class _TermWriter:
    """Replaces the marks by expressions and temporaries, term by term in evaluation order."""

    def __init__(self, templates: list[list[str]], far: frozenset[int], mentions: list[int]) -> None:
        self._templates = templates
        self._far = far  # sources that get a term of their own
        self._left = mentions  # mentions still to come
        self._free: list[str] = []
        self.bound: dict[int, str] = {}
        self.terms: list[str] = []
        self.temporaries: list[str] = []

    def term(self, pieces: list[str]) -> None:
        if self._far:
            self._bind_far(pieces)
        if pieces[0] == "" and pieces[2:] == [""]:
            self._read_now(int(pieces[1]))
        else:
            self.terms.append(self._text(pieces))

    def _read_now(self, number: int) -> None:
        if number in self.bound:
            self._left[number] -= 1
            return
        # `(t := x) is t` is always true: a term that binds and tests nothing.
        self._left[number] += 1  # the right side of the `is` below
        first = self._mention(number)
        self.terms.append(f"({first} is {self._mention(number)})")

    def _bind_far(self, pieces: list[str]) -> None:
        """Bind the far sources that the text would be written from by terms of their own, so that it does not nest too
        deeply: inner ones first, since a source has a higher number than those it is written from."""
        todo = [int(number) for number in pieces[1::2]]
        found = set[int]()
        while todo:
            number = todo.pop()
            if number not in found and number not in self.bound:
                found.add(number)
                todo += map(int, self._templates[number][1::2])
        for number in sorted(found & self._far):
            self._left[number] += 1
            self._read_now(number)

    def _text(self, pieces: list[str]) -> str:
        if len(pieces) == 1:
            return pieces[0]
        written = pieces.copy()
        for index in range(1, len(pieces), 2):
            written[index] = self._mention(int(pieces[index]))
        return "".join(written)

    def _mention(self, number: int) -> str:
        name = self.bound.get(number)
        self._left[number] -= 1
        if name is not None:
            if not self._left[number]:
                # Text is written in the order of evaluation, so whatever takes the name next is evaluated later.
                self._free.append(name)
            return name
        text = self._text(self._templates[number])
        if not self._left[number]:
            return text
        name = self.bound[number] = self._new_name()
        return f"({name} := {text})"

    def _new_name(self) -> str:
        if self._free:
            return self._free.pop()
        name = f"__fs_t{len(self.temporaries)}"
        self.temporaries.append(name)
        return name
