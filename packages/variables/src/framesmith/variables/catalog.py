"""All rows: importing this module fills the tables. A table of contents, no logic."""

import importlib
import pkgutil
from typing import Final

import framesmith.variables as package

FAMILIES: Final = ("builtin_types", "callables", "objects", "torch_values", "polyfills")
_GENERIC: Final = (".functions", ".method_rows", ".catalogue")  # rows for whole modules come after those for single functions

for _family in FAMILIES:
    _folder = importlib.import_module(f"{package.__name__}.{_family}")
    _names = [module.name for module in pkgutil.iter_modules(_folder.__path__, f"{_folder.__name__}.")]
    for _name in sorted(_names, key=lambda name: name.endswith(_GENERIC)):
        importlib.import_module(_name)
