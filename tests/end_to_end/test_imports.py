"""Imports inside of a compiled function do what they do eagerly, also the first ones."""

import importlib
import itertools
import sys
import threading
import types
import xml.dom

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

COUNT = itertools.count()
FILES = {
    "__init__": "HERE = 1\n",
    "sub": "print('sub is run')\nVALUE = 5\n",
    "broken": "raise ModuleNotFoundError('not here')\n",
    "inner/__init__": "",
    "inner/leaf": "VALUE = 7\n",
}
BODIES = {
    "a submodule": "from PKG import sub\n    return x + sub.VALUE",
    "a submodule and a name": "from PKG import HERE, sub\n    return x + sub.VALUE + HERE",
    "a submodule that fails": "try:\n        from PKG import broken\n    except ImportError as error:\n        return str(error), x\n    return x",
    "a name that is missing": "try:\n        from PKG import nothing\n    except ImportError as error:\n        return str(error).split('(')[0], x\n    return x",
    "a submodule of a subpackage": "from PKG.inner import leaf\n    return x + leaf.VALUE",
    "a dotted import": "import PKG.inner.leaf\n    return x + PKG.inner.leaf.VALUE",
}


@pytest.mark.parametrize("body", BODIES)
def test_the_first_import_of_a_submodule(body: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for compiles in (False, True):
        package = f"framesmith_package_{next(COUNT)}"
        for name, text in FILES.items():
            path = tmp_path / package / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        namespace: dict[str, object] = {}
        exec(f"import {package}\ndef f(x):\n    {BODIES[body].replace('PKG', package)}\n", namespace)
        function = frontend.compile(namespace["f"], backend="eager") if compiles else namespace["f"]
        results = [repr(function(torch.ones(1))) for _ in range(3)]
        loaded = sorted(name.removeprefix(package) for name in sys.modules if name.startswith(package))
        found.append(str((results, loaded, capsys.readouterr().out)).replace(package, "PKG"))
    assert found[0] == found[1]


RELATIVE = {
    "a submodule": "from . import sub\n    return x + sub.VALUE",
    "a module of a subpackage": "from .inner import leaf\n    from .inner.leaf import VALUE\n    return x + leaf.VALUE + VALUE",
    "an absolute one": "import PKG.inner.leaf\n    return x + PKG.inner.leaf.VALUE",
    "one that fails": "from . import broken\n    return x",
    "one that is missing": "from .absent import nothing\n    return x",
    "a name that is missing": "from .sub import nothing\n    return x",
    "one that is caught": "try:\n        from . import broken\n    except ImportError as error:\n        return str(error), x\n    return x",
}


def package_with(body: str, folder) -> str:
    """Write a package whose module `helper` has this function; gives the package's name."""
    package = f"framesmith_package_{next(COUNT)}"
    files = {**FILES, "helper": f"def helper(x):\n    {body.replace('PKG', package)}\n"}
    for name, text in files.items():
        path = folder / package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    importlib.invalidate_caches()
    return package


def outcome(function, *args) -> str:
    """What a call gives or raises, as text."""
    try:
        return repr(function(*args))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("body", RELATIVE)
def test_a_first_import_in_a_function_of_another_package(body: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for compiles in (False, True):
        package = package_with(RELATIVE[body], tmp_path)
        helper = importlib.import_module(f"{package}.helper").helper

        def call(x, helper=helper):
            return helper(x)

        function = frontend.compile(call, backend="eager") if compiles else call
        results = [outcome(function, torch.ones(1)) for _ in range(3)]
        found.append(str((results, capsys.readouterr().out)).replace(package, "PKG"))
    assert found[0] == found[1]


@pytest.mark.parametrize("body", list(RELATIVE)[:3])
@pytest.mark.parametrize("whole", [False, True])
def test_there_is_one_graph_once_the_module_is_imported(body, whole, tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = package_with(RELATIVE[body], tmp_path)
    helper = importlib.import_module(f"{package}.helper").helper
    graphs = []

    def backend(module, examples):
        graphs.append(module)
        return module.forward

    function = frontend.compile(lambda x: helper(x.sin()).cos(), backend=backend, fullgraph=whole)
    for _ in range(2):
        graphs.clear()
        function(torch.ones(1))
    assert len(graphs) == (0 if whole else 1)  # with fullgraph the first call had it


def test_a_module_that_was_taken_out_is_imported_again(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = package_with(RELATIVE["an absolute one"], tmp_path)
    helper = importlib.import_module(f"{package}.helper").helper
    function = frontend.compile(helper, backend="eager")
    for _ in range(3):
        function(torch.ones(1))
        assert sys.modules.pop(f"{package}.inner.leaf")


def found_or_not(x):
    try:
        import xml.dom.minidom
    except ImportError:
        return x + 100
    return x + len(xml.dom.minidom.__name__)


def found_inside_or_not(x):
    try:
        from xml.dom import minidom
    except ImportError:
        return x + 100
    return x + len(minidom.__name__)


def found_and_not_used(x):
    try:
        from xml.dom import minidom  # noqa: F401
    except ImportError:
        return x + 100
    return x + 1


@pytest.mark.parametrize("program", [found_or_not, found_inside_or_not, found_and_not_used])
@pytest.mark.parametrize("first", ["there", "forbidden"])
def test_a_module_that_is_taken_away_and_put_back(program, first, monkeypatch):
    import xml.dom.minidom as module

    compiled = frontend.compile(program, backend="eager")
    other = types.ModuleType("other")

    def put(inside, held):
        monkeypatch.setitem(sys.modules, "xml.dom.minidom", inside)
        monkeypatch.setattr(xml.dom, "minidom", held, raising=False)
        if held is None:
            monkeypatch.delattr(xml.dom, "minidom")

    states = [(module, module), (None, module), (None, None), (other, other), (module, module)]
    for inside, held in states if first == "there" else states[::-1] + states[1:]:
        put(inside, held)
        assert run(compiled) == run(program)


def run(function):
    try:
        return function(torch.zeros(1)).item()
    except ImportError as error:
        return type(error)


def test_a_module_is_not_imported_before_what_it_could_see(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "framesmith_late.py").write_text("import sys\nVALUE = sys.framesmith_noted.get('mode', 0)\n")
    noted = {}
    monkeypatch.setattr(sys, "framesmith_noted", noted, raising=False)

    def program(x):
        noted["mode"] = 1
        import framesmith_late

        return x + framesmith_late.VALUE

    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(frontend.errors.FullGraphError):
        compiled(torch.zeros(1))
    assert "framesmith_late" not in sys.modules


def test_a_module_that_another_thread_is_importing_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "half_imported.py").write_text(
        "import half_imported_control as control\nREADY = False\ncontrol.begun.set()\ncontrol.go_on.wait(60)\nREADY = True\n"
    )
    (tmp_path / "half_imported_control.py").write_text(
        "import threading\nbegun, go_on = threading.Event(), threading.Event()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    control = importlib.import_module("half_imported_control")

    def scaled(x):
        import half_imported

        return x * 2 if half_imported.READY else x

    thread = threading.Thread(target=importlib.import_module, args=("half_imported",))
    thread.start()
    assert control.begun.wait(60)
    ends = threading.Timer(0.5, control.go_on.set)
    ends.start()
    compiled = frontend.compile(scaled, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    thread.join()
    assert compiled(torch.ones(3)).tolist() == [2.0] * 3


MODULES_CHANGED = """
import sys, types, torch
from unittest import mock

fake = types.ModuleType("math")
fake.floor = lambda value: 77

def stored(x):
    before = sys.modules["math"]
    sys.modules["math"] = fake
    try:
        import math
        return x * math.floor(2.5)
    finally:
        sys.modules["math"] = before

def patched(x):
    with mock.patch.dict(sys.modules, {"math": fake}):
        from math import floor
        return x * floor(2.5)

def hidden(x):
    with mock.patch.dict(sys.modules, {"math": None}):
        try:
            import math
        except ImportError as error:
            return x, str(error)

def removed(x):
    before = sys.modules.pop("math")
    try:
        import math
        return x * math.floor(2.5), math is before
    finally:
        sys.modules["math"] = before

def submodule(x):
    before = sys.modules["os.path"]
    sys.modules["os.path"] = fake
    try:
        import os.path as path
        from os import path as other
        return x, path is other, path is fake
    finally:
        sys.modules["os.path"] = before

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("name", ["stored", "patched", "hidden", "removed", "submodule"])
def test_modules_that_the_program_puts_in_place(name: str) -> None:
    check_source(f"{MODULES_CHANGED}\nf = {name}\n")
