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
    function = frontend.compile(run_program(name)[name], backend="eager")
    names = called(function, *ARGUMENTS[name])
    late = [step for number, step in enumerate(walk) if not is_in_order(walk[: number + 1], iter(names))]
    assert not late, late[0]


def run_program(section: str) -> dict[str, Callable[..., object]]:
    """The functions of a section's program."""
    namespace: dict[str, Callable[..., object]] = {}
    for code, _ in readme.blocks(SECTIONS[section]):
        exec(compile(code, "walks.md", "exec"), namespace)
    return namespace


def test_five_items_need_four_entries(capsys: pytest.CaptureFixture[str]) -> None:
    function = frontend.compile(run_program("twice")["twice"], backend="eager")
    function([torch.ones(2)] * 5)
    assert len(frontend.explain(function)().entries) == 4


def test_the_second_call_calls_nothing_of_the_walk() -> None:
    function = frontend.compile(run_program("add")["add"], backend="eager")
    function(torch.ones(3))
    walk = {step for _, _, step in ROW.findall(SECTIONS["add"])}
    assert walk.isdisjoint(called(function, torch.ones(3)))
    again = called(function, torch.ones(4))
    assert is_in_order(["Policy.learn", "ShapeEnvAdapter.fake", "compile_guards"], iter(again))


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
