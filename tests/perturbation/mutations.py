"""All mutations of one world, by identifier: the path of what is changed, and what is done to it."""

import types
from collections.abc import Iterator

import torch
from tests.end_to_end.worlds import World
from tests.perturbation import object_mutations, plain_mutations, tensor_mutations
from tests.perturbation.locations import Item, Mutation, NotApplicable, addition, deletion
from tests.perturbation.walk import Site, Walk

BUILTINS = (
    "len",
    "isinstance",
    "sum",
    "max",
    "range",
    "print",
    "getattr",
    "hasattr",
    "abs",
    "float",
    "int",
    "sorted",
)

READS_UNSET_MEMORY = "weight.original0: size 1 to"
"""Where torch reads memory that it never set: weight norm takes a magnitude of any width and fills one column of its gradient."""


def mutations(world: World) -> dict[str, Mutation]:
    """Identifier -> mutation, the same for both worlds as long as they are alike."""
    walk = Walk(world)
    found: dict[str, Mutation] = {}
    for path, mutation in _everything(walk):
        found.setdefault(f"{path}: {mutation.name}", mutation)
    return found


def find(world: World, identifier: str) -> Mutation | None:
    """One mutation of a world by its identifier, without making the others."""
    path, _, name = identifier.rpartition(": ")
    for where, mutation in _everything(Walk(world), path):
        if where == path and mutation.name == name:
            return mutation
    return None


def _everything(walk: Walk, path: str | None = None) -> Iterator[tuple[str, Mutation]]:
    """All mutations with their paths; with a path, those of that path and perhaps others."""
    constants, names = walk.constants(), walk.names()
    tensors = [site for site in walk.sites if isinstance(site.value, torch.Tensor)]
    arguments = [site for site in tensors if site.path.startswith(("args", "kwargs"))]
    for mutation in tensor_mutations.together(arguments):
        yield "arguments", mutation
    for site in walk.sites:
        if path not in (None, site.path):
            continue
        for mutation in _of_site(site, constants, names, arguments):
            if READS_UNSET_MEMORY not in f"{site.path}: {mutation.name}":
                yield site.path, mutation
    for kind in walk.classes:
        for mutation in object_mutations.for_class(kind, names):
            yield f"<class {kind.__qualname__}>", mutation
    yield from _of_globals(walk, names)


def _of_site(
    site: Site, constants: list[object], names: list[str], arguments: list[Site]
) -> Iterator[Mutation]:
    value, location = site.value, site.location
    if isinstance(value, torch.Tensor):
        others = [one for one in arguments if one.value is not value]
        yield from tensor_mutations.for_tensor(location, value, others)
    elif isinstance(value, (types.FunctionType, property, classmethod, staticmethod)):
        yield from object_mutations.for_function(location, value)
    elif isinstance(value, type):
        return
    else:
        yield from plain_mutations.for_value(location, value, constants)
        if hasattr(value, "__dict__") or object_mutations.is_mine(type(value)):
            yield from object_mutations.for_instance(location, value, names)
    try:
        yield deletion(location)
    except NotApplicable:
        pass


def _of_globals(walk: Walk, names: list[str]) -> Iterator[tuple[str, Mutation]]:
    """Names that are absent appear; builtins are shadowed."""
    if not walk.functions:
        return
    namespace = walk.functions[0].__globals__
    for name in names:
        if name in namespace or name.startswith("__"):
            continue
        place = Item(namespace, name)
        if name in BUILTINS:
            yield (
                f"<global {name}>",
                addition("shadow builtin", place, lambda: object_mutations.mine(lambda *a: 3)),
            )
        else:
            yield f"<global {name}>", addition("add", place, lambda: 16)
