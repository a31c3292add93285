"""How often a loop with a graph break inside is compiled does not depend on how often it runs."""

import pytest
from tests.end_to_end.support import check_source
from tests.quality.loops import LOOPS, source

MOST_GRAPHS = 7


@pytest.mark.parametrize("name", LOOPS)
def test_the_number_of_graphs_does_not_grow_with_the_rounds(name: str) -> None:
    few, many = (check_source(source(name, rounds), name, calls=2) for rounds in (10, 100))
    assert many.graphs <= few.graphs <= MOST_GRAPHS, (few.graphs, many.graphs, many.recompiles)
    assert not many.notes, many.notes
