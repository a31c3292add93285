"""The user's rules for single callables that `torch._dynamo` keeps.

They are made by `allow_in_graph`, `nonstrict_trace`, `disallow_in_graph` and `forbid_in_graph`.
Torch keeps sets of their ids in a module that we never import: while it is not loaded, there are no such rules (ADR
0012).
"""

import sys
from typing import Final

_TRACE_RULES: Final = "torch._dynamo.trace_rules"
_FORBIDDEN: Final = "_dynamo_forbidden"


def is_allowed(value: object) -> bool:
    """Whether calls of it go into the graph as one node, without being traced."""
    return _is_in("_allowed_callable_ids", value)


def is_disallowed(value: object) -> bool:
    """Whether calls of it must not go into a graph."""
    return _is_in("_disallowed_callable_ids", value)


def forbids(attributes: dict[str, object]) -> bool:
    """Whether tracing a call of a function with these attributes is forbidden."""
    return attributes.get(_FORBIDDEN) is True


def _is_in(name: str, value: object) -> bool:
    ids: set[int] | None = getattr(getattr(sys.modules.get(_TRACE_RULES), name, None), "function_ids", None)
    return ids is not None and id(value) in ids
