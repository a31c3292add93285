"""Old data of inputs, kept for the backward pass of a graph of AOTAutograd: any code may replace them behind the graph.

    y = x @ p.t(); (somebody) p.data = v; y.backward()      eager has saved the view `p.t()`, and reads the old data

AOTAutograd saves `p` and takes the view again, of `v`. What eager does not read as `p` itself is read as it was: the tensor that is saved has
the memory of `p`, and its version counter, but does not get other data. Where eager reads both, an error says so, and where it reads the new
data, of which AOTAutograd has saved something that was computed from the old ones: `p.clamp(0, 1)`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias, cast, final

import torch
from torch.autograd.graph import Node
from torch.utils import checkpoint

from framesmith.graph.backends.saved_operands import Owner, Reads, check_version
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.histories import last_operation

_COMPILED: Final = "CompiledFunctionBackward"
"""The operation in the history of what AOTAutograd's graphs return."""
_MOST_SEARCHES: Final = 3
"""So often it is looked for in vain: a backend that runs the captured operations has none, and their history is long."""
_Path: TypeAlias = tuple[int, ...]
"""An end, and from its operation on the places among the next ones."""
_Hooks: TypeAlias = tuple[Callable[..., object], Callable[..., object]]
"""Of the program: the one that is given what is saved, and the one that gives it back."""
_Held: TypeAlias = tuple[torch.Tensor, int]
"""What is saved, and its version."""


class _Saved(Protocol):
    """torch's place of one tensor that is saved."""

    def register_hooks(
        self, hold: Callable[[torch.Tensor], _Held], read: Callable[[_Held], torch.Tensor], /
    ) -> None:
        """Have the tensor held by what `hold` gives, until `read` is called with that."""


class _Operation(Protocol):
    """An operation in a history that says what it has saved."""

    saved_tensors: Sequence[torch.Tensor]
    _raw_saved_tensors: Sequence[_Saved]

    def register_prehook(self, check: Callable[[object], None], /) -> object:
        """Have `check` called with the gradients before the operation is differentiated."""


def _hold(saved: torch.Tensor) -> _Held:
    return saved, saved._version


def _read(held: _Held) -> torch.Tensor:
    saved, version = held
    check_version(saved, version)
    return saved


def _read_of(owner: Owner, held: _Held) -> torch.Tensor:
    """Raises RuntimeError where the owner has other data by now: eager's backward pass reads them, and the old ones, too."""
    if owner.is_replaced():
        raise owner.error()
    return _read(held)


@final
class HeldInputs:
    """What of a graph's inputs is kept for a backward pass. `reads`: what eager reads of the inputs, by their places. `histories`: the
    places of those that have a history behind the graph, which may be of the graph's making; `own`: how many memories of results eager saves.

    Which of them the backend saves, and where, is looked up in the first call.
    """

    def __init__(self, reads: Mapping[int, Reads], histories: Sequence[int], own: int) -> None:
        self._reads = {place: one for place, one in reads.items() if not _is_read_itself(one)}
        self._tensor_reads = {place: one for place, one in reads.items() if Reads.TENSOR in one}
        self._histories = histories
        self._own = own
        self._found: list[_Saving] = []
        self._vain = 0

    def around(self, call: Callable[..., tuple[object, ...]]) -> Callable[..., tuple[object, ...]]:
        """The call of the graph, behind which what it saved is held."""
        if not self._reads and not self._tensor_reads:
            return call

        def run(*values: object) -> tuple[object, ...]:
            before = self._histories_of(values)
            results = call(*values)
            # hooks of the program get what is saved, and there is one pair of hooks for each
            hooks = cast(_Hooks | None, torch._C._autograd._top_saved_tensors_default_hooks(True))
            if hooks is None and not self._found and self._vain == _MOST_SEARCHES:
                return results
            made = _Call(values, (*results, *(values[place] for place in self._histories)), before)
            with torch._C.DisableTorchFunction():  # no subclass is asked, and no mode
                if hooks is None:
                    self._hold_in(made)
                elif hooks[0].__module__ != checkpoint.__name__:  # which computes all of it again
                    self._check_in(made)
            return results

        return run

    def _histories_of(self, values: Sequence[object]) -> Sequence[Node | None]:
        """The histories that such inputs have before the graph."""
        if not self._histories:
            return ()
        with torch._C.DisableTorchFunction():
            return [last_operation(cast(torch.Tensor, values[place])) for place in self._histories]

    def _hold_in(self, made: "_Call") -> None:
        nodes = [one.find(made.ends) for one in self._found]
        if self._vain < _MOST_SEARCHES and (not nodes or None in nodes):
            # in the first call, and where another graph has run: a backend may choose by the inputs
            self._found = self._find(made)
            self._vain += not self._found
            nodes = [one.find(made.ends) for one in self._found]
        values = made.values
        for one, found in zip(self._found, nodes, strict=True):
            if found is None:
                continue
            node, saved = found
            for index, place in one.held:
                saved[index].register_hooks(_hold, self._reader(place, values))
            if one.checked:
                self._check_before(node, values, one.checked)

    def _check_in(self, made: "_Call") -> None:
        """Have a backward pass refused where other data came into what eager reads old data of."""
        mixed = [place for place, one in self._tensor_reads.items() if Reads.RESULTS in one]
        for _, node in made.operations():
            self._check_before(node, made.values, {*self._reads, *mixed})
            return

    @staticmethod
    def _check_before(node: _Operation, values: Sequence[object], places: Iterable[int]) -> None:
        owners = [Owner(cast(torch.Tensor, values[place]), Reads.TENSOR) for place in places]
        node.register_prehook(partial(_check, owners))

    def _reader(self, place: int, values: Sequence[object]) -> Callable[[_Held], torch.Tensor]:
        if Reads.TENSOR not in self._reads[place]:
            return _read
        return partial(_read_of, Owner(cast(torch.Tensor, values[place]), Reads.TENSOR))

    def _find(self, made: "_Call") -> list["_Saving"]:
        held = {id(made.values[place]): place for place in self._reads}
        needed = {id(made.values[place]): place for place in self._tensor_reads}
        found, own, exact = list[_Saving](), set[int](), list[int]()
        for path, node in made.operations():
            try:
                tensors = node.saved_tensors
            except RuntimeError:  # changed in place since: the backward pass refuses it
                continue
            own.update(map(storage_of, tensors))
            saved = list(map(id, tensors))
            places = [(index, held[one]) for index, one in enumerate(saved) if one in held]
            exact += saved
            found.append(_Saving(path, len(saved), places, []))
        own.difference_update(storage_of(value) for value in made.values if isinstance(value, torch.Tensor))
        # else something may be saved that was computed of an input, or be computed again of what it holds by then
        for one in exact if len(own) >= self._own else ():
            if one in needed and Reads.RESULTS not in self._tensor_reads[needed[one]]:
                del needed[one]
        if found:
            # the one that runs first, as it is nearest to a result
            found[0].checked.extend(needed.values())
        return [one for one in found if one.held or one.checked]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """One call of a graph. `ends`: its results, and its inputs that have a history now; `before`: the histories that these had."""

    values: Sequence[object]
    ends: Sequence[object]
    before: Sequence[Node | None]

    def operations(self) -> Iterator[tuple[_Path, _Operation]]:
        """Those of AOTAutograd between the inputs and the ends."""
        changed = {id(one) for one in self.ends[len(self.ends) - len(self.before) :]}
        seen = {
            last_operation(value)
            for value in self.values
            if isinstance(value, torch.Tensor) and id(value) not in changed
        }
        seen.update(self.before)
        todo: list[tuple[_Path, Node | None]] = [
            ((place,), last_operation(end))
            for place, end in enumerate(self.ends)
            if isinstance(end, torch.Tensor)
        ]
        while todo:
            path, node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if node.name() == _COMPILED:
                yield path, cast(_Operation, node)
            todo += [((*path, place), one) for place, (one, _) in enumerate(node.next_functions)]


@final
@dataclass(frozen=True, slots=True)
class _Saving:
    """An operation that saved inputs: how it is reached from the ends, how much it saved, where which of the inputs is among that, and the
    inputs that it should have saved."""

    path: _Path
    length: int
    held: Sequence[tuple[int, int]]
    checked: list[int]

    def find(self, ends: Sequence[object]) -> tuple[_Operation, Sequence[_Saved]] | None:
        """The operation of another call, and what it saved; None where another graph has run."""
        last = ends[self.path[0]]
        node = last_operation(last) if isinstance(last, torch.Tensor) else None
        for place in self.path[1:]:
            following = () if node is None else node.next_functions
            node = following[place][0] if place < len(following) else None
        if node is None or node.name() != _COMPILED:
            return None
        operation = cast(_Operation, node)
        saved = operation._raw_saved_tensors
        return (operation, saved) if len(saved) == self.length else None


def _check(owners: Sequence[Owner], gradients: object) -> None:
    """Raises RuntimeError where one of the owners has other data by now."""
    for owner in owners:
        if owner.is_replaced():
            raise owner.error()


def _is_read_itself(reads: Reads) -> bool:
    """Whether eager's backward pass reads a tensor with whatever data it has by then, and nothing else of it."""
    return Reads.TENSOR in reads and not reads & (Reads.VIEWS | Reads.VALUE)
