"""The table of contents is complete."""

import pkgutil
import sys

from framesmith.variables import catalog


def test_every_module_of_every_family_is_in_the_catalog():
    text = open(catalog.__file__).read()
    for family in catalog.FAMILIES:
        for module in pkgutil.iter_modules(family.__path__, f"{family.__name__}."):
            assert f"import {module.name}\n" in text, f"add `import {module.name}` to catalog.py"
            assert module.name in sys.modules
