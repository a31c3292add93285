"""Programs that are modules of files: in eager torch's compiler, which some functions of torch call, imports the globals of a function."""

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import torch
from tests.end_to_end.support import Report, compare_worlds
from tests.end_to_end.worlds import World

NUMBERS = itertools.count()


def load_module(source: str, folder: Path) -> World:
    """A program given as text, as a module of its own: it defines `f` and `args()`."""
    name = f"program_{next(NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return World(module.f, module.args(), {})


def check_module(source: str, folder: Path, **settings: Any) -> Report:
    """`check` for such a program."""
    torch._dynamo.reset()
    return compare_worlds(load_module(source, folder), load_module(source, folder), **settings)
