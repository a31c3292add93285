"""functorch's transforms of functions: what Python does around a body, which becomes a nested graph.

Each takes the place of the function of `torch._functorch` of the same name. What does not fit raises Unfit: then the
original runs natively, and raises its own error.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.eager_transforms import _slice_argnums
from torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

from framesmith.variables.polyfills import transform_bodies as bodies

Tree = Any
"""A nested structure of tensors and other values; what is in it only the program knows, hence Any."""


class Unfit(Exception):
    """The arguments are such that the original raises an error."""


def wraps_without_dynamo_attrs(func: Callable[..., Tree]) -> Callable[..., Tree]:
    """`_wraps_without_dynamo_attrs`, which also takes marks of torch's compiler off the result: a marked function breaks the
    graph when it is called."""
    return functools.wraps(func)


def flat_vmap(
    func: Callable[..., Tree],
    batch_size: int,
    flat_in_dims: list[int | None],
    flat_args: list[Any],
    args_spec: Any,
    out_dims: Any,
    randomness: str,
    **kwargs: Any,
) -> Tree:
    """`_flat_vmap`: one call of `torch.vmap`, whose arguments were checked."""
    places = [index for index, value in enumerate(flat_args) if isinstance(value, torch.Tensor)]

    def run(*tensors: torch.Tensor) -> tuple[Tree, tuple[int | None, ...]]:
        values = list(flat_args)
        for index, tensor in zip(places, tensors):  # noqa: B905  # equally long; a keyword would cost a call more
            values[index] = tensor
        outputs = func(*tree_unflatten(values, args_spec), **kwargs)
        leaves, spec = tree_flatten(outputs)
        dims: Any
        if isinstance(outputs, torch.Tensor):
            dims = out_dims if isinstance(out_dims, tuple) else (out_dims,)
        else:
            dims = _broadcast_to_and_flatten(out_dims, spec)
        if dims is None or len(dims) != len(leaves):
            raise Unfit
        return outputs, tuple(dims)

    tensors = [flat_args[index] for index in places]
    return bodies.map_batched(run, tensors, [flat_in_dims[index] for index in places], randomness)


def grad_and_value_impl(
    func: Callable[..., Tree],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Tree, Tree]:
    """`grad_and_value_impl`."""
    tensors, which, rebuild = _take_apart(args, kwargs, argnums)
    _, spec = tree_flatten(_slice_argnums(args, argnums, as_tuple=False))

    def run(*inner: torch.Tensor) -> tuple[Tree, Tree]:
        # As the original, which differentiates also under `no_grad`.
        with torch.enable_grad():
            inner_args, inner_kwargs = rebuild(inner)
            output = func(*inner_args, **inner_kwargs)
        output, aux = _split_aux(output, has_aux)
        if not isinstance(output, torch.Tensor) or output.dim() != 0:
            raise Unfit
        return output, aux

    gradients, (output, aux) = bodies.differentiate(run, tensors, which)
    found = tree_unflatten(gradients, spec)
    return (found, (output, aux)) if has_aux else (found, output)


def vjp_with_argnums(
    func: Callable[..., Tree],
    *primals: Tree,
    argnums: int | tuple[int, ...] | None = None,
    has_aux: bool = False,
) -> tuple[Tree, ...]:
    """`_vjp_with_argnums`."""
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    tensors, which, rebuild = _take_apart(primals, {}, chosen)
    differentiated = primals if argnums is None else _slice_argnums(primals, argnums, as_tuple=False)
    _, primals_spec = tree_flatten(differentiated)

    def run(*inner: torch.Tensor) -> tuple[Tree, Tree]:
        with torch.enable_grad():
            output, aux = _split_aux(func(*rebuild(inner)[0]), has_aux)
        leaves, _ = tree_flatten(output)
        if not leaves:
            raise Unfit
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
                raise Unfit
        return output, aux

    (output, aux), pullback = bodies.pull_back(run, tensors, which)
    _, output_spec = tree_flatten(output)

    def wrapper(cotangents: Tree, retain_graph: bool = True, create_graph: bool | None = None) -> Tree:
        leaves, spec = tree_flatten(cotangents)
        # The original raises, or frees the history: neither is modelled.
        if spec != output_spec or not retain_graph or create_graph is not None:
            bodies.refuse()
        return tree_unflatten(bodies.call_pullback(pullback, leaves), primals_spec)

    return (output, wrapper, aux) if has_aux else (output, wrapper)


def jvp_with_argnums(
    func: Callable[..., Tree],
    primals: tuple[Tree, ...],
    tangents: Tree,
    argnums: int | tuple[int, ...] | None,
    *,
    strict: bool = False,
    has_aux: bool,
) -> tuple[Tree, ...]:
    """`_jvp_with_argnums`."""
    if not isinstance(primals, tuple):
        raise Unfit
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    tensors, which, rebuild = _take_apart(primals, {}, chosen)
    differentiated = primals if argnums is None else _slice_argnums(primals, argnums)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if tree_flatten(differentiated)[1] != tangents_spec:
        raise Unfit
    for tangent in flat_tangents:
        if not isinstance(tangent, torch.Tensor):
            raise Unfit

    def run(*inner: torch.Tensor) -> tuple[Tree, Tree]:
        output, aux = _split_aux(func(*rebuild(inner)[0]), has_aux)
        leaves, _ = tree_flatten(output)
        if not leaves:
            raise Unfit
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise Unfit
        return output, aux

    output, derived, aux = bodies.push_forward(run, tensors, which, flat_tangents, strict)
    return (output, derived, aux) if has_aux else (output, derived)


def linearize(func: Callable[..., Tree], *primals: Tree) -> tuple[Tree, Callable[..., Tree]]:
    """`linearize`. The original records a graph of the derivative here and runs it for each tangent; this one takes the derivative
    again, at the same place, of a function that does nothing but compute."""
    flat, spec = tree_flatten(primals)
    for primal in flat:
        if not isinstance(primal, torch.Tensor) or primal.requires_grad or not primal.is_floating_point():
            raise Unfit
    # What is written to the tensors later does not count.
    kept = tree_unflatten([primal.clone() for primal in flat], spec)
    before = bodies.count_draws()
    zeros = tree_unflatten([torch.zeros_like(primal) for primal in flat], spec)
    output = torch.func.jvp(func, primals, zeros)[0]
    # The original runs the function twice.
    if bodies.count_draws() != before:
        raise Unfit
    forms = [(primal.shape, primal.device, primal.dtype) for primal in flat]

    def jvp_fn(*tangents: Tree) -> Tree:
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}"
            )
        for number, (tangent, form) in enumerate(zip(given, forms)):  # noqa: B905  # as above
            found = (tangent.shape, tangent.device, tangent.dtype)
            for what, own, expected in zip(("shape", "device", "dtype"), found, form):  # noqa: B905
                if own != expected:
                    raise RuntimeError(
                        f"tangent:{number} with {what} {own} in flattened pytree doesn't match the {what} {expected} of the "
                        "corresponding primal."
                    )
        return torch.func.jvp(func, kept, tangents)[1]

    return output, jvp_fn


def _take_apart(
    args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int | tuple[int, ...]
) -> tuple[list[torch.Tensor], list[int], Callable[[Sequence[torch.Tensor]], Any]]:
    """The tensors in the arguments, the positions of those that are differentiated, and the function that puts other tensors
    in their place."""
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    # Called for its errors: numbers out of range, or given twice.
    _slice_argnums(args, chosen)
    # Negative numbers count from the end.
    positions = [number % len(args) for number in chosen]
    leaves: list[Any] = []
    found: dict[int, list[int]] = {}
    specs = []
    for number, argument in enumerate((*args, kwargs)):
        flat, spec = tree_flatten(argument)
        found[number] = list(range(len(leaves), len(leaves) + len(flat)))
        leaves.extend(flat)
        specs.append((len(flat), spec))
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    wanted = [index for number in positions for index in found[number]]
    for index in wanted:
        if index not in places:
            raise Unfit

    def rebuild(tensors: Sequence[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = list(leaves)
        for index, tensor in zip(places, tensors):  # noqa: B905  # as above
            values[index] = tensor
        built = []
        start = 0
        for count, spec in specs:
            built.append(tree_unflatten(values[start : start + count], spec))
            start += count
        return tuple(built[:-1]), built[-1]

    return [leaves[index] for index in places], [places.index(index) for index in wanted], rebuild


def _split_aux(output: Tree, has_aux: bool) -> tuple[Tree, Tree]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise Unfit
    for leaf in tree_flatten(output[1])[0]:
        if not isinstance(leaf, torch.Tensor):
            raise Unfit
    return output
