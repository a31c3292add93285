"""Names for sympy's classes in annotations. sympy ships no types, so they are Any to the type checker."""

from typing import Any, TypeAlias

Expression: TypeAlias = Any
"""A sympy.Expr or a relation."""

Symbol: TypeAlias = Any
"""A sympy.Symbol."""
