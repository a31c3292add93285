"""Programs become what their golden files say. `python -m tests.golden.update` writes the files, for one Python version at a time."""

import pytest
from tests.golden.stages import CASES, OTHER_VERSION, VERSION, sections, stages
from tools import interpreters


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_program_becomes_what_its_file_says(path) -> None:
    expected = sections(path.read_text())
    found = stages(path.stem, expected["source"])
    other = [title for title in expected if OTHER_VERSION.fullmatch(title) and title not in found]
    assert f"operations {VERSION}" in found
    assert {title: body for title, body in expected.items() if title not in other} == found


def test_every_stage_has_files() -> None:
    assert 12 <= len(CASES) <= 20
    texts = [path.read_text() for path in CASES]
    assert all(f"=== operations {version}" in text for text in texts for version in interpreters.SUPPORTED)
