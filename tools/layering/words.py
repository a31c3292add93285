"""The rule on words: names and docstrings use the words of `docs/glossary.md`; retired ones are refused."""

import ast
import re

from tools.layering.sources import FUNCTIONS, Problem, Source

RETIRED = {
    "restless": "unspecialized",
    "unsettled": "unspecialized",
    "quiet": "builtin hash",
    "stranded": "has to be a real generator",
    "forgetful": "without traceback",
    "precious": "has an observable lifetime",
    "abandoned": "has pending cleanup",
    "loosely": "finalizable",
    "landing": "end of iteration",
    "mover": "call that consumes its arguments",
    "stamp": "version",
    "grounds": "dependencies",
    "standing": "versioned guards, frames",
    "trampoline": "tail calls",
    "translator": "interpreter",
    "stamped": "with its line number",
    "home": "method definition, module",
    "room": "subpackage",
    "blind": "has unread items",
    "payload": "builtin part",
}
"""Each retired word, and what to say; its forms in -s, -ed and -ing are retired too."""

RETIRED_NAMES = {
    "compared": "comparison_fields",
    "hashed": "hash_fields",
    "changed": "changed_trackers",
    "distinguished": "distinct_trackers",
    "declined": "make_inplace_fallback",
    "flagged": "make_flag_encoder",
    "forced": "force",
    "counted": "write_count",
    "paused": "pause_recording",
    "paused_collector": "pause_collector_for_import",
    "collector_paused": "pause_collector_for_trace",
    "found_by_iteration": "search_iterator",
    "made_set": "make_set",
    "own_set": "require_set",
    "deferred_join": "join_or_defer",
    "deferred_format": "format_or_defer",
    "unhashable": "raise_unhashable",
    "plain": "fall_back, or what it does",
    "wrong": "make_compile_argument_error",
    "wrong_argument": "make_argument_error",
    "not_callable": "make_not_callable_error",
    "no_attribute": "raise_no_attribute",
    "cannot_specialize": "break_on_changing_value",
    "leave_out_cycles": "exclude_cycles",
    "what_it_reads": "explain_data_read",
    "when_loaded": "call_when_loaded",
    "why_data_fails": "explain_data_failure",
    "break_record": "make_break_record",
    "begin_marked": "begin_marked_call",
    "polyfill": "register_polyfill",
    "polyfill_of_lists": "register_list_polyfill",
    "make_tuple": "make_real_tuple, make_tuple_tracker",
    "as_tuple": "find_tuple_part",
    "as_set": "find_set_part",
    "storage": "builtin_part_or_self",
    "is_strict": "is_strict_iterator, has_strict_breaks",
    "Absent": "GuardsMissed",
    "Live": "ResettableSession",
    "Pen": "TermWriter",
    "Made": "RealCalls",
    "Stored": "CachedResult",
    "Existing": "ExistingSet",
    "Combined": "SetOperation",
    "Change": "SetChange",
    "Changed": "ChangedSet",
    "Incapable": "PlainSample",
    "Refusing": "NonContainerSample",
    "Misleading": "MisleadingSample",
    "Written": "ConditionText",
    "Unheard": "FakeFailureFilter",
    "Inferring": "InferencePattern",
    "StandIn": "ItemKey",
    "Slot": "StackItem",
    "Prefix": "PartialEntry",
    "ShapeWorld": "ShapeEnvAdapter",
    "ShapeFacts": "ShapeRelations",
    "name_arguments": "make_arguments_explicit",
}
"""Names that no function or class has, with what they are called instead: participles, adjectives and sentences, and
one word for two things. The words themselves are good English in a docstring. A leading `_` does not count."""

BRITISH = re.compile(
    r"\w*(?:special|real|normal|final|initial|optim|serial|parametr|recogn|summar|general)is(?:e[ds]?|ers?|ing|ations?|able)",
    re.IGNORECASE,
)
"""One spelling: that of torch's names, `specialize` and `initialize`."""

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


def retired(source: Source) -> list[Problem]:
    """Names that are defined or bound, and docstrings, with a retired word or in the other spelling."""
    problems = []
    for node in ast.walk(source.tree):
        for name in _names(node):
            problems += [
                _problem(source, node, word, name) for word in _PARTS.findall(name) if _retired_form(word)
            ]
        if isinstance(node, _DEFINITIONS) and node.name.lstrip("_") in RETIRED_NAMES:
            instead = RETIRED_NAMES[node.name.lstrip("_")]
            problems.append(
                source.problem(node, f"{node.name!r} says neither what it does nor what it is: {instead}")
            )
        if isinstance(node, (ast.Module, *_DEFINITIONS)):
            words = re.findall(r"[A-Za-z]+", ast.get_docstring(node) or "")
            problems += [_problem(source, node, word, "a docstring") for word in words if _retired_form(word)]
            problems += [
                source.problem(node, f"a docstring says {word!r}: write it with z, as torch does")
                for word in words
                if BRITISH.fullmatch(word)
            ]
    return problems


def _retired_form(word: str) -> str:
    """The retired word that this is a form of; empty for any other word."""
    word = word.lower()
    stems = (
        word,
        word.removesuffix("s"),
        word.removesuffix("ed"),
        word.removesuffix("ing"),
        word.removesuffix("ing") + "e",
    )
    return next((stem for stem in stems if stem in RETIRED), "")


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.id if isinstance(node, ast.Name) else node.attr]
    return []


def _problem(source: Source, node: ast.AST, word: str, where: str) -> Problem:
    return source.problem(
        node, f"{where} says {word!r}, which is retired: {RETIRED[_retired_form(word)]} (docs/glossary.md)"
    )
