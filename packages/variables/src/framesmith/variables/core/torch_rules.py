"""What `torch._dynamo` was told of single callables: `allow_in_graph`, `nonstrict_trace`, `disallow_in_graph`, `forbid_in_graph`.

torch keeps sets of ids for them in a module that we never import: as long as it is not loaded, nobody has said anything.
"""

import sys
from typing import Final

_HOME: Final = "torch._dynamo.trace_rules"
_FORBIDDEN: Final = "_dynamo_forbidden"


def is_allowed(value: object) -> bool:
    """Whether calls of it go into the graph as they are, unlooked at."""
    return _is_in("_allowed_callable_ids", value)


def is_disallowed(value: object) -> bool:
    """Whether calls of it never go into a graph."""
    return _is_in("_disallowed_callable_ids", value)


def forbids(attributes: dict[str, object]) -> bool:
    """Whether a function with these attributes must not be met while tracing at all."""
    return attributes.get(_FORBIDDEN) is True


def _is_in(name: str, value: object) -> bool:
    ids: set[int] | None = getattr(getattr(sys.modules.get(_HOME), name, None), "function_ids", None)
    return ids is not None and id(value) in ids
