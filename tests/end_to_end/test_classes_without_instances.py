"""Classes of which only C code makes instances: calling them is the TypeError of eager."""

import array
import collections
import functools
import re

import pytest
import torch
from tests.end_to_end.support import check

CLASSES = [
    *(type(iter(array.array("i"))), type(re.compile("a")), type(re.match("a", "a"))),
    *(type(functools.cmp_to_key(len)), type(iter([])), type({}.keys())),
]


@pytest.mark.parametrize("place", range(len(CLASSES)))
def test_a_call(place):
    """Without arguments and with one."""
    kind = CLASSES[place]

    def function(x):
        results = []
        for args in ((), (1,)):
            try:
                results.append(type(kind(*args)))
            except TypeError as error:
                results.append(str(error))
        return results, x + 1

    check(function, torch.ones(2))


def test_new_of_another_layout_is_refused():
    def outcomes():
        found = []
        for base, kind in ((int, bool), (tuple, torch.Size), (dict, collections.OrderedDict), (object, int)):
            try:
                found.append(base.__new__(kind))
            except TypeError as error:
                found.append(str(error))
        return found

    check(outcomes)
