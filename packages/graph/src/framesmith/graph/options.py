"""The options of one recording, and helpers for symbolic numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, final

import sympy
import torch

from framesmith.graph.replacing_backends import is_known_to_replace

# A backend takes what torch.compile's backends take. `Any` because a compiled callable has no fixed signature.
BackendCall = Callable[..., Any]
Backend = Callable[..., BackendCall]


@final
@dataclass(frozen=True, slots=True)
class GradientBuckets:
    """What data parallel training reduces. `parameters` are the identities of its parameters, `first` and `size` the least bytes of
    the first bucket and of each later one: a bucket is full with the parameter that reaches them. There is one row of buckets for each
    dtype and device."""

    parameters: frozenset[int]
    first: int
    size: int


@final
@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Choices for one recording; every field has the default of `torch.compile`.

    `duck_shapes`: dynamic sizes that are equal in the example share one symbol (and so one guard of equality).
    `shared_subgraphs`: inductor gets repeated operations as calls of one subgraph (ADR 0023).
    `gradient_buckets`: a backend that replaces operations gets the graph in parts (ADR 0033).
    `exports`: the graph is for other calls than those that the guards allow, and is run as it is.
    `mode` and `backend_options` belong to the backend, as `torch.compile(mode=..., options=...)`.
    """

    backend: str | Backend = "eager"
    mode: str | None = None
    backend_options: Mapping[str, object] = field(default_factory=dict)
    capture_scalar_outputs: bool = False
    capture_dynamic_output_shape_ops: bool = False
    duck_shapes: bool = False
    verify_correctness: bool = False
    shared_subgraphs: bool = False
    gradient_buckets: GradientBuckets | None = None
    exports: bool = False

    @property
    def shares_subgraphs(self) -> bool:
        """Whether the backend gets repeated operations as calls of one subgraph: only inductor gains by it."""
        return self.shared_subgraphs and self.backend == "inductor"

    @property
    def compiles_slowly(self) -> bool:
        """Whether the backend takes seconds for a graph, so that one for a single call does not pay."""
        return self.backend == "inductor"

    @property
    def runs_as_captured(self) -> bool:
        """Whether the backend runs the captured operations themselves ("eager"), or is a callable of the user that was not seen
        to replace them.

        AOTAutograd replaces them by others. It converts symbolic floats to float32, takes no generator, no default dtype
        that changes midway, no history of its own results, and no leaf that was made in inference mode.
        """
        if isinstance(self.backend, str):
            return self.backend == "eager"
        return not is_known_to_replace(self.backend)

    @property
    def backend_name(self) -> str:
        """The backend's name for messages."""
        if isinstance(self.backend, str):
            return self.backend
        return str(getattr(self.backend, "__qualname__", None) or type(self.backend).__qualname__)


def hint_of(number: int | torch.SymInt) -> int:
    """A size or stride in the call that is traced, of which nothing is decided by this; 1 for one that depends on data."""
    hint = number.node.hint if isinstance(number, torch.SymInt) else number
    return hint if isinstance(hint, int) else 1


def is_symbolic(value: object) -> bool:
    """Whether a value is one of torch's symbolic numbers."""
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def count_terms(value: torch.SymInt | torch.SymFloat | torch.SymBool, most: int) -> int:
    """How many nodes the expression of a symbolic number has; counting stops at `most`."""
    return sum(1 for _ in islice(sympy.preorder_traversal(value.node.expr), most))


PLAIN_INTS: Final = frozenset({int})
"""A superset of the types of sizes of which none is symbolic."""


def is_fixed(value: object) -> bool:
    """Whether a number can have one value only: it is plain, or symbolic and fixed by a decision of the trace."""
    if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return True
    if value.node.is_constant():
        return True
    expression = getattr(value.node, "expr", None)
    return bool(getattr(expression, "is_number", False)) or str(expression) in ("True", "False")
