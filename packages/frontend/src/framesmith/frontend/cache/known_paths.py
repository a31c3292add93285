"""Which continuations lead to which, kept up to date from entry to entry: the numbers behind `idle_loops`.

    0 -> 0, 0 -> 1, 1 ends           all is clear, both reach an end, 0 is in a loop
    0 -> 0, 0 -> 1, 1 computes       neither is clear

Most entries change what is known of their own continuation only. What an entry changes elsewhere is found by walking from it, and
each such step settles something, so that the work for a function is about that for its entries, not their square (ADR 0029).
"""

from collections.abc import Callable, Collection, Iterable, Set
from typing import Final, final

_NO_LOOP: Final = -1


@final
class KnownPaths:
    """Continuations by number, with the steps that a call may take between them.

    A place is *blocked* if an entry of it computes something or no call was there yet, *clear* if it reaches no blocked place.
    One where an operation goes on that raises is not blocked before a call was there: it has not raised.

    Invariant: the `causes` of a place that is not clear lead, each a successor of the one before, to a blocked place,
    which is its own cause. Steps are never forgotten, so ends and loops remain.
    """

    def __init__(self) -> None:
        self._successors: list[set[int]] = []
        self._predecessors: list[set[int]] = []
        self._is_known: list[bool] = []
        self._is_clear: list[bool] = []
        self._reaches_end: list[bool] = []
        self._causes: list[int] = []
        self._loops: list[int] = []  # a number that the places have in common of which each reaches each

    def add_place(self, *, raises: bool) -> int:
        """A continuation without entries; `raises`: an operation that raised goes on there."""
        number = len(self._causes)
        self._successors.append(set())
        self._predecessors.append(set())
        self._is_known.append(False)
        self._is_clear.append(raises)
        self._reaches_end.append(False)
        self._causes.append(number)
        self._loops.append(_NO_LOOP)
        return number

    def is_idle(self, place: int) -> bool:
        """Whether it comes back to itself, and from there to the end nothing computes anything."""
        return self._is_clear[place] and self._reaches_end[place] and self._loops[place] != _NO_LOOP

    def add_entry(self, place: int, targets: Collection[int], *, computes: bool) -> set[int]:
        """An entry of a place, which goes on at `targets`, or ends there; returns the places that may be idle now, or no more."""
        new = [target for target in set(targets) if target not in self._successors[place]]
        self._successors[place].update(new)
        for target in new:
            self._predecessors[target].add(place)
        changed = set[int]()
        if not targets or any(self._reaches_end[target] for target in new):
            changed |= self._spread([(place, place)], self._learn_of_end)
        is_first, self._is_known[place] = not self._is_known[place], True
        if self._is_clear[place]:
            blocked = [target for target in new if not self._is_clear[target]]
            if not computes and not blocked:
                return changed.union(*(self._find_loop(place, target) for target in new))
            self._is_clear[place], self._causes[place] = False, place if computes else blocked[0]
            return changed | {place} | self._spread(self._predecessors_of([place]), self._learn_of_cause)
        if computes:
            self._causes[place] = place  # for good
        elif is_first:
            changed |= self._unblock(place)
        return changed

    def _spread(self, waiting: Iterable[tuple[int, int]], learn: Callable[[int, int], bool]) -> set[int]:
        """Go backwards while there is something to learn; returns the places that learnt. `learn` is asked with a place and
        the successor from which it was reached."""
        rest, learnt = list(waiting), set[int]()
        while rest:
            place, successor = rest.pop()
            if learn(place, successor):
                learnt.add(place)
                rest += self._predecessors_of([place])
        return learnt

    def _predecessors_of(self, places: Iterable[int]) -> list[tuple[int, int]]:
        return [(one, place) for place in places for one in self._predecessors[place]]

    def _learn_of_end(self, place: int, successor: int) -> bool:
        is_new, self._reaches_end[place] = not self._reaches_end[place], True
        return is_new

    def _learn_of_cause(self, place: int, successor: int) -> bool:
        if not self._is_clear[place]:
            return False
        self._is_clear[place], self._causes[place] = False, successor
        return True

    def _unblock(self, place: int) -> set[int]:
        """The first entry of a place that was blocked only for want of one. Returns the places that are clear now."""
        blocked = [one for one in self._successors[place] if not self._is_clear[one]]
        # those that are blocked by themselves first: no walk is needed
        for target in sorted(blocked, key=lambda one: self._causes[one] != one):
            if self._blocked_place(target) != place:
                self._causes[place] = target
                return set()
        hanging = {place}
        rest = [place]
        while rest:
            found = rest.pop()
            more = [
                one for one in self._predecessors[found] if self._causes[one] == found and one not in hanging
            ]
            hanging.update(more)
            rest += more
        for one in hanging:
            self._is_clear[one] = True
        others = [
            (one, successor)
            for one in hanging
            for successor in self._successors[one]
            if not self._is_clear[successor]
        ]
        clear = hanging - self._spread(others, self._learn_of_cause)
        self._find_loops(clear)
        return clear

    def _blocked_place(self, place: int) -> int:
        while (cause := self._causes[place]) != place:
            place = cause
        return place

    def _find_loop(self, place: int, target: int) -> set[int]:
        """The places that are in a loop now, by a new step between two clear ones."""
        if self._loops[place] == self._loops[target] != _NO_LOOP:
            return set()
        ahead, rest = {target}, [target]
        while rest:
            unseen = self._successors[rest.pop()] - ahead
            ahead |= unseen
            rest += unseen
        if place not in ahead:
            return set()
        members, rest = {place}, [place]
        while rest:
            unseen = (self._predecessors[rest.pop()] & ahead) - members
            members |= unseen
            rest += unseen
        for one in members:
            self._loops[one] = place
        return members

    def _find_loops(self, places: Set[int]) -> None:
        """Set the loops among places that became clear together, as all places of a loop do (Tarjan 1972, without recursion)."""
        order, lowest = dict[int, int](), dict[int, int]()
        path = list[int]()
        for start in places:
            if start in order:
                continue
            order[start] = lowest[start] = len(order)
            path.append(start)
            rest = [(start, iter(self._successors[start] & places))]
            while rest:
                place, successors = rest[-1]
                following = next(successors, None)
                if following is None:
                    rest.pop()
                    if rest:
                        lowest[rest[-1][0]] = min(lowest[rest[-1][0]], lowest[place])
                    if lowest[place] == order[place]:
                        self._close_loop(place, path, lowest)
                elif following not in order:
                    order[following] = lowest[following] = len(order)
                    path.append(following)
                    rest.append((following, iter(self._successors[following] & places)))
                else:
                    lowest[place] = min(lowest[place], lowest[following])

    def _close_loop(self, place: int, path: list[int], lowest: dict[int, int]) -> None:
        """Take the places from `place` on off the path: each of them reaches each."""
        members = [path.pop()]
        while members[-1] != place:
            members.append(path.pop())
        for one in members:
            lowest[one] = len(self._causes)  # done: no other loop has it
        if len(members) > 1 or place in self._successors[place]:
            for one in members:
                self._loops[one] = place
