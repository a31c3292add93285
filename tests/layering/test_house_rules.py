"""The house rules over every module of the five packages. The rules themselves are in `tools/layering`."""

import warnings
from collections.abc import Sequence

import pytest
from tools.layering import budget, callers, classes, docs, imports, packages, sizes, tested, words
from tools.layering.sources import MAY_IMPORT, ROOT, Problem, Rule, apply, everything

PACKAGES = [ROOT / "packages" / layer for layer in MAY_IMPORT]

SLOTS = "a method for each type slot of CPython"
VARIABLES = "packages/variables/src/framesmith/variables"
CROWDED = {
    "packages/graph/src/framesmith/graph/recorder.py::Recorder": "the one door to a graph that is being recorded",
    f"{VARIABLES}/core/base.py::Tracker": SLOTS,
    f"{VARIABLES}/builtin_types/dicts.py::DictTracker": SLOTS,
    f"{VARIABLES}/builtin_types/lists.py::ListTracker": SLOTS,
    f"{VARIABLES}/builtin_types/deques.py::DequeTracker": SLOTS,
    f"{VARIABLES}/builtin_types/sets.py::SetTracker": SLOTS,
    f"{VARIABLES}/objects/instances.py::InstanceTracker": SLOTS,
    f"{VARIABLES}/tensors/tensors.py::TensorTracker": SLOTS,
}
"""`<path>::<class>` -> why it has more than twenty public methods."""

UNCALLED = {
    "program_text": "the text of a guard program, for golden tests (rule 7)",
    "configure_logs": "called when frontend is imported",
    "forget_warnings": "for tests, so that a warning that is given once can be asked for again",
}
"""Functions that the product does not call -> why they are here; the public names of the packages need no row."""

RULES: tuple[Rule, ...] = (
    imports.inside_functions,
    imports.relative,
    imports.upward,
    imports.dynamo,
    imports.version_questions,
    imports.third_party,
    classes.own_walks,
    classes.foreign_privates,
    sizes.long_files,
    sizes.long_functions,
    sizes.long_chains,
    docs.missing_docstrings,
    docs.cut_first_lines,
    words.retired,
)


def none_of(problems: Sequence[Problem]) -> None:
    """Fail with one line a problem."""
    assert not problems, "\n" + "\n".join(map(str, problems))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule: Rule) -> None:
    none_of(apply(rule))


def test_a_class_name_is_used_once_in_all_packages() -> None:
    none_of(classes.repeated_names(everything()))


def test_classes_derive_from_a_family_and_a_root_at_most() -> None:
    none_of(classes.deep_classes(everything()))


def test_every_function_and_class_has_a_caller_or_is_public() -> None:
    none_of(callers.without_callers(everything(), callers.public_names() | set(UNCALLED)))


def test_each_module_of_frontend_is_imported_by_a_unit_test() -> None:
    none_of(tested.untested_of("frontend"))


def test_a_crowded_class_has_a_reason() -> None:
    none_of(apply(lambda source: sizes.crowded_classes(source, CROWDED)))


def test_every_reason_belongs_to_a_file_that_is_there() -> None:
    named = {row.partition("::")[0] for row in CROWDED} | set(imports.LATE)
    assert not named - {one.path for one in everything()}


def test_any_and_ignores_stay_within_the_budget() -> None:
    table = budget.read()
    none_of(
        [problem for one in everything() for problem in budget.check(one, table.get(one.path, budget.Row()))]
    )


def test_the_budget_lists_no_file_that_is_gone() -> None:
    assert not set(budget.read()) - {one.path for one in everything()}


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_declared_dependencies_equal_the_table_of_the_design(layer: str) -> None:
    assert imports.declared_dependencies(layer) == imports.table_row(layer)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_holds_what_every_package_holds(package) -> None:
    none_of(packages.missing_parts(package) + packages.bad_fragments(package) + packages.bad_ranges(package))


def test_no_file_names_a_machine_or_a_registry() -> None:
    texts = ((path, path.read_text(encoding="utf-8")) for path in packages.text_files())
    none_of(
        [one for path, text in texts for one in packages.machine_paths(str(path.relative_to(ROOT)), text)]
    )


def test_the_workspace_lists_every_layer_and_no_other() -> None:
    assert {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")} == set(MAY_IMPORT)


def test_report_what_is_longer_than_the_aim() -> None:
    """Never fails: how many files are over 150 lines, and each function over 60, are shown in the summary of warnings."""
    files = apply(lambda source: sizes.long_files(source, sizes.FILE_AIM))
    functions = apply(lambda source: sizes.long_functions(source, sizes.FUNCTION_AIM))
    for problem in functions:
        warnings.warn(str(problem), stacklevel=1)
    if files:
        warnings.warn(sizes.name_largest(files, len(everything())), stacklevel=1)


def test_the_glossary_lists_the_retired_words() -> None:
    rows = "".join(f"| {word} | {instead} |\n" for word, instead in words.RETIRED.items())
    assert (ROOT / "docs/glossary.md").read_text().endswith(rows)
