"""A sample of the perturbation battery in every run; `python dev.py perturbation` runs all of it."""

import zlib

import pytest
from tests.perturbation import corpus, episode, runner

SEED = 1
EVERY = 6
MUTATIONS = 4


def sampled() -> list[corpus.Program]:
    """Every sixth program without an own limit: those are the expensive ones."""
    cheap = [one for one in corpus.programs() if one.limit is None]
    return [one for one in cheap if zlib.crc32(one.name.encode()) % EVERY == 0]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", sampled(), ids=lambda program: program.name)
def test_a_changed_program_is_like_eager(program):
    for group in runner.episodes(program, SEED, MUTATIONS):
        assert episode.run(program, group) is None


def test_each_program_has_mutations_and_a_name_of_its_own():
    assert len(corpus.programs()) >= 200
    assert all("def args" in one.text for one in corpus.programs())


def test_a_difference_is_found():
    text = "N = []\ndef f(x):\n    return x + 1\ndef args(): return torch.ones(2),\n"
    text += "import builtins\nbuiltins.counted = getattr(builtins, 'counted', 0) + 1\nK = builtins.counted\n"
    found = episode.run(corpus.Program("broken on purpose", text), [])
    assert found is not None and "value is" in found.message
