"""What is done in Python at the bodies of higher-order operators: nested structures become lists of leaves, and back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten


class UnfitBody(Exception):
    """The body gives what the operator does not take: torch itself raises its error."""


def flat_results(body: Callable[..., object], *values: object) -> tuple[list[object], TreeSpec]:
    """The leaves of what the body gives, and their structure."""
    return tree_flatten(body(*values))


def flat_steps(body: Callable[..., object], count: int, *values: object) -> tuple[list[object], TreeSpec]:
    """The same for a body that gives a pair, whose first member has to have that many leaves."""
    result = body(*values)
    if not isinstance(result, (tuple, list)) or len(result) != 2 or len(tree_leaves(result[0])) != count:
        raise UnfitBody
    return tree_flatten(result)


def nested(leaves: Sequence[object], structure: TreeSpec) -> object:
    """The leaves in that structure."""
    return tree_unflatten(leaves, structure)


def is_same_structure(one: TreeSpec, other: TreeSpec) -> bool:
    """Whether two structures are equal; their own `==` asks for the texts of the types."""
    if one.type is not other.type or one.context != other.context or one.num_children != other.num_children:
        return False
    pairs = zip(one.children(), other.children(), strict=True)
    return all(is_same_structure(left, right) for left, right in pairs)


@contextmanager
def annotate(annotation_dict: dict[str, object]) -> Iterator[None]:
    """`torch.fx.traceback.annotate`, which gives nodes that torch traces something to remember, and computes nothing."""
    yield
