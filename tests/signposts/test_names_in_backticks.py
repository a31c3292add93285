"""Every name in back-ticks that looks like ours exists: in the pages, in docstrings and in comments."""

import ast
import builtins
import dis
import inspect
import io
import keyword
import pkgutil
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tools import pages

ROOT = pages.ROOT
LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")
SPAN = re.compile(r"(?<!`)``?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?``?(?!`)")
C_API = re.compile(r"_?Py[A-Z]\w*_?\w*|(tp|nb|sq|mp|am)_\w+|SLOT\w+")
GENERATED = "docs/where-is.md"  # a test of its own compares it with the tables

IN_C = frozenset(
    {
        "all_contained_in",  # Objects/dictobject.c
        "dictviews_to_set",
        "exception_unwind",  # Python/bytecodes.c: labels of the loop
        "resume_with_error",
        "super_init_without_args",  # Objects/typeobject.c
        "super_getattro",
        "slotdefs",
        "type_setattro",
        "assign_version_tag",
        "reduce_newobj",
        "object_getstate_default",
        "list_richcompare",  # Objects/listobject.c
        "tuplesubscript",  # Objects/tupleobject.c
        "intern_string_constants",  # Objects/codeobject.c
        "get_exception_handler",  # Python/ceval.c
        "do_raise",
        "check_except_type_valid",
        "deque_concat",  # Modules/_collectionsmodule.c
        "mutablemapping_update",  # Objects/odictobject.c
        "OrderedDict_setdefault_impl",
        "set_attribute_error_context",  # Objects/object.c
        "type_getattro",  # Objects/typeobject.c
        "object___reduce_ex__",
        "object_richcompare",
        "slot_tp_descr_set",
        "method_is_overloaded",
        "supercheck",
        "iter_iternext",  # Objects/iterobject.c
        "property_init_impl",  # Objects/descrobject.c
        "infer_scalar_type",  # torch/csrc/utils/tensor_new.cpp
    }
)
"""Functions of CPython and torch that are written in C or C++, where a reader of ours is to look."""

ELSEWHERE = {
    "_handle_fromlist": "importlib._bootstrap",
    "_is_internal_frame": "warnings",
    "singledispatchmethod": "functools",
    "boolean_dispatch": "torch._jit_internal",
    "extract_model_from_parallel": "accelerate.utils",
}
"""Names that other libraries define, with the module."""

NO_NAMES = {
    "begin_": "the prefix of a family of methods",
    "exp_avg": "a key of an optimizer's state",
    "param_groups": "an attribute of an optimizer",
    "infj": "text that Python prints",
    "compile_wrapper": "a function inside a function of torch",
    "maybe_run_autograd": "a function inside a function of torch",
    "accumulate_grad.h": "a file of torch",
    "is_internal_filename": "a function inside a function of the standard library",
    "skip_file_prefixes": "a parameter of warnings.warn",
    "__bytes__": "a special method, read by C code",
    "int.from_bytes": "a method of a builtin class",
}
"""Words in back-ticks that no module defines, with what they are."""


def source_files() -> Iterator[Path]:
    """The sources of the packages and of what stands beside them."""
    for folder in ("packages", "tests", "tools", "benchmarks", "examples"):
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__))


@cache
def names_in_code() -> frozenset[str]:
    """Every name that the code says, in short texts too (keys, modules loaded by name), and those of files."""
    found = set(dir(builtins)) | set(sys.stdlib_module_names) | set(keyword.kwlist) | set(dis.opmap)
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        found |= {*path.parts, path.stem}
        words = tokenize.generate_tokens(io.StringIO(text).readline)
        found.update(word.string for word in words if word.type == tokenize.NAME)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
                found.update(re.findall(r"\w+", node.value))
    return frozenset(found)


def texts() -> Iterator[tuple[str, str]]:
    """Each page, docstring and comment, with where it is."""
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md"):
        for page in sorted(ROOT.glob(pattern)):
            yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("packages/*/src/**/*.py")):
        text = path.read_text(encoding="utf-8")
        where = str(path.relative_to(ROOT))
        for word in tokenize.generate_tokens(io.StringIO(text).readline):
            if word.type == tokenize.COMMENT:
                yield f"{where}:{word.start[0]}", word.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield f"{where}:{node.lineno}", str(node.value.value)


@cache
def spans() -> dict[str, list[str]]:
    """Each name in back-ticks, with the places that say it."""
    found: dict[str, list[str]] = {}
    for where, text in texts():
        if where != GENERATED:
            for match in SPAN.finditer(text):
                found.setdefault(match[1], []).append(where)
    return found


def is_found(name: str) -> bool:
    """Whether all parts of a name are in our code, or it can be imported."""
    if name in IN_C or name in ELSEWHERE or name in NO_NAMES or C_API.fullmatch(name):
        return True
    if set(name.split(".")) <= names_in_code() or re.match(r"[a-z]\.", name):  # `x.fc.bias` is an example
        return True
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_name_in_backticks_exists() -> None:
    missing = {name: places for name, places in spans().items() if not is_found(name)}
    assert not missing


@cache
def our_classes() -> dict[str, list[type]]:
    """The classes of the five packages by name."""
    found: dict[str, list[type]] = {}
    for layer in LAYERS:
        package = import_module(f"framesmith.{layer}")
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if info.name.endswith("__main__"):
                continue
            for name, value in vars(import_module(info.name)).items():
                if inspect.isclass(value) and value.__module__ == info.name:
                    found.setdefault(name, []).append(value)
    return found


def has_member(cls: type, name: str) -> bool:
    """Whether instances of the class have the attribute: defined, declared, or bound to `self`."""
    if hasattr(cls, name) or any(name in inspect.get_annotations(base) for base in cls.__mro__):
        return True
    return any(
        f"self.{name}" in inspect.getsource(base)
        for base in cls.__mro__
        if base.__module__.startswith("framesmith.")
    )


def test_every_member_in_backticks_belongs_to_its_class() -> None:
    missing = {}
    for name, places in spans().items():
        owner, _, member = name.partition(".")
        classes = our_classes().get(owner, [])
        if classes and member and not any(has_member(cls, member.split(".")[0]) for cls in classes):
            missing[name] = places
    assert not missing


@pytest.mark.parametrize("name", ["GuardSet.ad", "no_such_name_of_ours", "framesmith.guards.no_such_module"])
def test_a_name_that_is_gone_is_noticed(name) -> None:
    owner, _, member = name.partition(".")
    of_class = our_classes().get(owner)
    assert not is_found(name) or (of_class and not any(has_member(cls, member) for cls in of_class))


def test_every_exception_is_needed() -> None:
    listed = {*IN_C, *ELSEWHERE, *NO_NAMES}
    assert not listed - spans().keys()
    assert not [name for name in listed if name in names_in_code()]


@pytest.mark.parametrize("name", [name for name, module in ELSEWHERE.items() if module != "accelerate.utils"])
def test_a_name_of_another_library_is_there(name) -> None:
    assert hasattr(import_module(ELSEWHERE[name]), name)
