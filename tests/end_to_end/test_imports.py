"""Imports inside of a compiled function do what they do eagerly, also the first ones."""

import itertools
import sys

import pytest
import torch

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
