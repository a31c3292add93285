"""The example call: its arguments flattened as a pytree, a name for each leaf, and how they are bound to the traced function.

f(x, y, k={"z": z})  ->  leaves [x, y, z] with the names x, y, k_z; in_spec is the spec of (args, kwargs) Which of the
leaves get symbolic sizes: `exporting.dynamic_shapes`.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import final

import torch
from torch.utils import _pytree as pytree

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.dynamic_shapes import ExampleInt
from framesmith.frontend.exporting.target import ExportTarget

_NOT_IN_NAMES = re.compile(r"\W+", re.ASCII)
_OF_THE_TEXT = ("self", "fx_pytree", "pytree")
"""What the text of the graph means by these names is its own."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExampleCall:
    """The arguments of the example. `names` are those of `leaves`; `parameters` those that the exported `forward` has."""

    target: ExportTarget
    leaves: tuple[object, ...]
    names: tuple[str, ...]
    parameters: tuple[str, ...]
    spec: pytree.TreeSpec

    def given(self) -> frozenset[str]:
        """The parameters of the traced function that the user's arguments are bound to, not those with a default."""
        args, kwargs = pytree.tree_unflatten(list(self.leaves), self.spec)
        bound = _bind(self.target, args, kwargs)
        own = {*list(bound.signature.parameters)[: len(self.target.fixed)], *self.target.fixed_keywords}
        return frozenset(name for name in bound.arguments if name not in own)

    def places(self) -> list[object]:
        """The leaves, with an `ExampleInt` for each int."""
        return [
            ExampleInt(index, leaf) if isinstance(leaf, int) and type(leaf) is int else leaf
            for index, leaf in enumerate(self.leaves)
        ]

    def arguments_with_places(self) -> Mapping[str, object]:
        """The arguments by parameter name, with an `ExampleInt` for each int."""
        args, kwargs = pytree.tree_unflatten(self.places(), self.spec)
        arguments: Mapping[str, object] = self.target.signature.bind(*args, **kwargs).arguments
        return arguments

    def bind(self, leaves: Sequence[object]) -> list[object]:
        """The values of the traced function's parameters, in their order, with these leaves in place of the example's.

        Raises TypeError, as the call would, where the arguments do not fit.
        """
        args, kwargs = pytree.tree_unflatten(list(leaves), self.spec)
        return bind_call(self.target, args, kwargs)


def bind_call(target: ExportTarget, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
    """The values of the traced function's parameters for these arguments; raises TypeError as the call would."""
    bound = _bind(target, args, kwargs)
    bound.apply_defaults()
    kinds = {name: parameter.kind for name, parameter in bound.signature.parameters.items()}
    last = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    plain = [name for name in kinds if kinds[name] not in last]
    # as in a code object: what takes the rest comes after all others
    rest = [name for kind in last for name in kinds if kinds[name] is kind]
    return [bound.arguments[name] for name in (*plain, *rest)]


def _bind(
    target: ExportTarget, args: Sequence[object], kwargs: Mapping[str, object]
) -> inspect.BoundArguments:
    # the wrapper of a decorated function is what is traced: its own parameters are wanted
    signature = inspect.signature(target.function, follow_wrapped=False)
    return signature.bind(*target.fixed, *args, **{**target.fixed_keywords, **kwargs})


def flatten_call(target: ExportTarget, args: tuple[object, ...], kwargs: dict[str, object]) -> ExampleCall:
    """The example call of a target. Raises TypeError where the arguments do not fit its signature."""
    parameters = _parameter_names(target.signature, len(args), kwargs)
    paths, spec = pytree.tree_flatten_with_path((args, kwargs))
    names = [_leaf_name(path, parameters[: len(args)]) for path, _ in paths]
    leaves = distinct_tensors([leaf for _, leaf in paths])
    return ExampleCall(target, leaves, tuple(names), _texts_of(parameters[: len(args)], kwargs), spec)


def distinct_tensors(leaves: Sequence[object]) -> tuple[object, ...]:
    """The leaves, a tensor that is there twice as another object the second time: they are two inputs of the graph. A view is
    represented by a tensor of the same memory that is none, as the module takes any tensor, which may have no base."""
    seen: set[int] = set()
    found: list[object] = []
    for leaf in leaves:
        place = id(leaf)
        if type(leaf) is torch.Tensor and _is_plain_view(leaf):
            base = leaf.new_empty(0)
            plain = base.set_(leaf.untyped_storage(), leaf.storage_offset(), leaf.shape, leaf.stride())
            leaf = _with_marks(plain, leaf)
        if isinstance(leaf, torch.Tensor) and place in seen:
            leaf = _with_marks(leaf.detach().clone().requires_grad_(leaf.requires_grad), leaf)
        seen.add(place)
        found.append(leaf)
    return tuple(found)


def _is_plain_view(leaf: torch.Tensor) -> bool:
    """Whether it is a view of which nothing but its memory can be seen."""
    special = leaf.requires_grad or leaf.is_inference() or leaf.is_conj() or leaf.is_neg()
    return leaf.layout is torch.strided and leaf._is_view() and not special


def _with_marks(copy: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    """The copy of a tensor, with the marks on its sizes: a copy has no attributes."""
    marks = {name: set(value) for name, value in vars(leaf).items() if isinstance(value, set)}
    vars(copy).update(marks)
    return copy


def _parameter_names(
    signature: inspect.Signature, count: int, kwargs: Mapping[str, object]
) -> tuple[str, ...]:
    """A name for each positional argument: the parameter's, or that of `*args` with a number."""
    names: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{index}" for index in range(count - len(names))]
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(name)
    names += [f"arg_{index}" for index in range(len(names), count)]  # too many: binding them raises
    return tuple(names[:count])


def _texts_of(positional: Sequence[str], keywords: Mapping[str, object]) -> tuple[str, ...]:
    """The parameters of `forward`, in the text of the graph. Those of positional arguments may have other names."""
    for name in keywords:
        if not name.isidentifier() or iskeyword(name) or name in _OF_THE_TEXT:
            raise ExportError(
                f"the keyword {name!r} cannot be a parameter of `forward` in the text of a graph; pass that argument in a dict"
            )
    names = list[str]()
    for name in positional:
        base, number = name, 0
        while name in _OF_THE_TEXT or name in keywords or name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return (*names, *keywords)


def _leaf_name(path: Sequence[object], parameters: Sequence[str]) -> str:
    """A readable name for a leaf: parameter, then the keys on the way to it."""
    of_kwargs, first, *rest = [_key_text(key) for key in path]
    # the path begins in `(args, kwargs)`
    head = first if of_kwargs == "1" else parameters[int(first)]
    text = _NOT_IN_NAMES.sub("_", "_".join([head, *rest])).strip("_") or "input"
    # `forward` has a parameter `self` already
    return f"l_{text}" if text[0].isdigit() or text == "self" else text


def _key_text(key: object) -> str:
    for attribute in ("idx", "key", "name"):
        found = getattr(key, attribute, None)
        if found is not None:
            return str(found)
    return str(key)
