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
}
"""Each retired word, and what to say."""

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
                _problem(source, node, word, name) for word in _PARTS.findall(name) if word.lower() in RETIRED
            ]
        if isinstance(node, (ast.Module, *_DEFINITIONS)):
            words = re.findall(r"[A-Za-z]+", ast.get_docstring(node) or "")
            problems += [
                _problem(source, node, word, "a docstring") for word in words if word.lower() in RETIRED
            ]
            problems += [
                source.problem(node, f"a docstring says {word!r}: write it with z, as torch does")
                for word in words
                if BRITISH.fullmatch(word)
            ]
    return problems


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
        node, f"{where} says {word!r}, which is retired: {RETIRED[word.lower()]} (docs/glossary.md)"
    )
