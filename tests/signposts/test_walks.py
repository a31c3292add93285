"""The walks of `docs/walks.md` are the way that a call takes: its functions are called in that order, each in a file of its own."""

import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import pytest
import torch
from tools import pages, readme

from framesmith import frontend
from framesmith.frontend.signposts.definitions import definitions

PAGE = (pages.ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \d+ \| \[([\w/.]+)\]\((\S+)\) \| `([\w.]+)` \|", re.MULTILINE)
ARGUMENTS = {"add": (torch.ones(3),), "twice": ([torch.ones(2), torch.ones(2)],)}
MOST_FILES = {"add": 18, "twice": 12}
SECTIONS = dict(zip(ARGUMENTS, PAGE.split("\n## ")[1:], strict=True))


def called(function: Callable[..., object], *args: object) -> list[str]:
    """The qualified names of the functions that a call calls, in their order."""
    names = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return names


def is_in_order(walk: list[str], names: Iterator[str]) -> bool:
    """Whether the names hold those of the walk, one after the other."""
    return all(step in names for step in walk)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_call_takes_this_way(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    walk = [function for _, _, function in ROW.findall(SECTIONS[name])]
    namespace: dict[str, Callable[..., object]] = {}
    for code, _ in readme.blocks(SECTIONS[name]):
        exec(compile(code, "walks.md", "exec"), namespace)
    names = called(frontend.compile(namespace[name], backend="eager"), *ARGUMENTS[name])
    late = [step for number, step in enumerate(walk) if not is_in_order(walk[: number + 1], iter(names))]
    assert not late, late[0]


@pytest.mark.parametrize("name", SECTIONS)
def test_no_file_is_on_a_walk_twice(name: str) -> None:
    files = [file for file, _, _ in ROW.findall(SECTIONS[name])]
    assert len(files) == len(set(files)) <= MOST_FILES[name]


@pytest.mark.parametrize("name", SECTIONS)
def test_each_function_is_in_its_file(name: str) -> None:
    for file, _, function in ROW.findall(SECTIONS[name]):
        assert f"framesmith/{file}" in [file_and_line for file_and_line, _ in definitions()[function]], (
            function
        )
