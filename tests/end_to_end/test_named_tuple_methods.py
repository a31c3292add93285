"""Named tuples with methods in Python that call those of `tuple`, by `super()` and by name."""

import collections
import itertools
import platform

import pytest
import torch
from tests.end_to_end.support import check


class Longer(collections.namedtuple("Pair", "a b")):
    __slots__ = ()

    def __iter__(self):
        return itertools.chain(super().__iter__(), (7,))

    def __len__(self):
        return super().__len__() + 1

    def __getitem__(self, key):
        return tuple(self)[key]

    def __contains__(self, item):
        return super().__contains__(item) or item == "more"

    def __add__(self, other):
        return super().__add__(other) + ("sum",)

    def __eq__(self, other):
        return super().__eq__(other)

    def __hash__(self):
        return super().__hash__() + 1


class Fixed(collections.namedtuple("Pair", "a b")):
    def __len__(self):
        return 99

    def __getitem__(self, key):
        return "own"


LONGER, FIXED = Longer(1, 2), Fixed(3, 4)
PROGRAMS = {
    "items": lambda x: (x + 1, tuple(LONGER), [*LONGER], LONGER[2], len(LONGER), LONGER.a),
    "unpacked": lambda x: (x + sum(LONGER), [y for y in LONGER], max(LONGER)),
    "operators": lambda x: (x, "more" in LONGER, 2 in LONGER, 5 in LONGER, LONGER + (3,), LONGER == (1, 2)),
    "right": lambda x: (x, (0,) + LONGER, () + LONGER, [*((0,) + FIXED)]),
    "hash": lambda x: (x, hash(LONGER) == hash((1, 2)) + 1),
    "by name": lambda x: (x, tuple.__len__(FIXED), tuple.__getitem__(FIXED, 0), len(FIXED), FIXED[0]),
    "methods": lambda x: (x, LONGER.count(1), LONGER.index(2), LONGER._replace(a=5), LONGER._asdict()),
    "new": lambda x: (Longer(x, 1).a, len(Longer(x, 1)), [y for y in Longer(x, 1)][2]),
    "platform": lambda x: (x + 1, platform.system(), platform.machine()),
}


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))
def test_programs(program):
    tuple(platform.uname())  # asks the system, and remembers
    check(program, torch.ones(2), breaks=0)
