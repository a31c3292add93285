"""Sources handed to torch: equal within a trace, names only in another process."""

import copy
import pickle

from framesmith.graph.fakes.torch_sources import SourceNames, TorchSource, unwrap
from framesmith.guards.sources import Local


def test_a_source_is_found_again_while_its_trace_lasts() -> None:
    names, source = SourceNames(), Local("x")
    wrapped = names.wrap(source)
    assert unwrap(wrapped) is source
    assert unwrap(copy.deepcopy(wrapped)) is source


def test_a_source_from_a_file_belongs_to_no_trace() -> None:
    names = SourceNames()
    wrapped = names.wrap(Local("x"))
    loaded = pickle.loads(pickle.dumps(wrapped))
    assert isinstance(loaded, TorchSource)
    assert loaded.name == wrapped.name
    assert unwrap(loaded) is None


def test_the_file_is_the_same_for_each_trace() -> None:
    first, second = [SourceNames().wrap(Local("x")) for _ in range(2)]
    assert first != second
    assert pickle.dumps(first) == pickle.dumps(second)
