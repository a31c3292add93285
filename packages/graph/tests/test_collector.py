"""The switch of the garbage collector is left as it was found."""

import gc

import pytest

from framesmith.graph.environment import collector_during_import as collector


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_is_still_inside_and_then_as_it_was(before) -> None:
    switch = {True: gc.enable, False: gc.disable}
    was = gc.isenabled()
    switch[before]()
    try:
        with pytest.raises(KeyError), collector.pause_collector_for_import():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is before
    finally:
        switch[was]()
