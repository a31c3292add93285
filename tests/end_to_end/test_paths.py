"""`pathlib` and `os.path` inside a compiled function: what is computed from the text alone is in the graph."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import os, torch
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
ROOT = Path("/tmp/x")
class Own:
    def __init__(self, text): self.text = text
    def __fspath__(self): return self.text
class Text(str): pass
def args():
    return (torch.arange(6.0).reshape(2, 3),)
"""


@pytest.mark.parametrize(
    "expression",
    [
        "(Path('a') / 'b.txt').name, Path('a') / 'b'",
        "PurePosixPath('a/b.txt').suffix, PureWindowsPath('c:/a/b').drive",
        "(lambda q: (q.parts, q.stem, q.suffixes, str(q.parent), q.as_posix(), q.is_absolute()))(PurePath('a/b/c.tar.gz'))",
        "str(Path('a/b.c').with_suffix('.x')), str(Path('a/b').with_name('n')), repr(Path('q')), f'{Path(\"a\")}'",
        "Path('a/b') == Path('a') / 'b', Path('a') < Path('b'), Path('a') == 'a'",
        "os.fspath(Path('a/b')), os.fspath('z'), os.fspath(b'z'), os.fspath(Own('q')), os.fspath(path=Own(b'q'))",
        "type(os.fspath(Text('a'))) is Text, os.path.join(Path('a'), 'b'), os.path.join(Own('a'), 'b')",
        "os.path.splitext('a/b.c'), os.path.split('a/b'), os.path.dirname('a/b'), os.path.commonprefix(['ab', 'ac'])",
        "os.path.normpath('a/../b'), os.path.relpath('/a/b', '/a'), os.path.commonpath(['/a/b', '/a/c'])",
    ],
)
def test_what_is_computed_from_text_is_in_the_graph(expression):
    check_source(f"{HEAD}def f(x):\n    return x + 1, {expression}\n", graphs=1, breaks=0)


@pytest.mark.parametrize(
    "expression",
    [
        # from Python 3.12 on a path keeps the text that it was asked for
        "(ROOT / 'b').name, ROOT, str(ROOT.joinpath('b', 'c')), [str(one) for one in ROOT.parents]",
        "str(Path('/a/b').relative_to('/a')), Path('/a/b').is_relative_to('/a')",
        "hash(Path('a')) == hash(Path('a')), {Path('a'): 1}[Path('a')], Path('a/b.py').match('*.py')",
    ],
)
def test_the_rest_gives_what_eager_gives(expression):
    check_source(f"{HEAD}def f(x):\n    return x + 1, {expression}\n")


@pytest.mark.parametrize(
    "call",
    [
        "Path('a').relative_to('/b')",
        "Path('a') / 3",
        "Path(3)",
        "Path('a').with_name('')",
        "os.fspath(3)",
        "os.fspath(Own(3))",
        "os.fspath(None)",
        "os.fspath()",
        "os.path.join('a', 3)",
        "os.path.join('a', b'b')",
    ],
)
def test_errors_are_those_of_eager(call):
    check_source(
        f"{HEAD}def f(x):\n    y = x + 1\n    try: {call}\n    except Exception as e: return y, type(e), str(e)\n"
    )


def test_files_are_looked_at_in_each_call():
    check_source(
        HEAD
        + """
import pathlib, tempfile
def f(x):
    with tempfile.TemporaryDirectory() as name:
        there = Path(name) / "a"
        before = there.exists(), os.path.exists(there)
        there.write_text("text")
        return x + 1, before, there.exists(), there.read_text(), os.path.getsize(there)
"""
    )
