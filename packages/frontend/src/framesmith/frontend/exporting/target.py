"""What is exported: the function that is traced, what is passed to it before the user's arguments, the names of its tensors."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import final

import torch

from framesmith.frontend import api
from framesmith.frontend.argument_checks import make_argument_error
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.variables.callables.compiled import original_of


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExportTarget:
    """A function with the arguments that are part of the program: the module of a call, what a `partial` holds.

    `signature` is that of what the user calls. `tensors`: parameters, buffers and other tensors of the module, by `id`, with
    their dotted names; those in `saved` are in its `state_dict`.
    """

    function: FunctionType
    signature: inspect.Signature
    fixed: tuple[object, ...] = ()
    fixed_keywords: Mapping[str, object] = field(default_factory=dict)
    tensors: Mapping[int, str] = field(default_factory=dict)
    definition: MethodDefinition | None = None

    @property
    def saved(self) -> dict[str, torch.Tensor]:
        """The buffers and parameters of the module that are saved, by each of their dotted names."""
        owner = self.fixed[0] if self.tensors else None
        if not isinstance(owner, torch.nn.Module):
            return {}
        names = owner.state_dict().keys()
        held = (*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False))
        return {name: tensor for name, tensor in held if name in names}

    def as_called(self) -> Callable[..., None]:
        """A callable with the signature of what the user calls: a `torch.export.ShapesCollection` binds the arguments to it."""

        def called(*args: object, **kwargs: object) -> None:
            """Does nothing."""

        vars(called)["__signature__"] = self.signature
        return called

    def with_fixed(self, values: tuple[object, ...], keywords: Mapping[str, object]) -> "ExportTarget":
        """The same with further arguments that are part of the program."""
        return replace(self, fixed=(*self.fixed, *values), fixed_keywords={**self.fixed_keywords, **keywords})


def find_target(model: object) -> ExportTarget:
    """The target for a function, method, module, callable object or `functools.partial`. Raises InvalidArgument for anything else."""
    if isinstance(model, torch.nn.Module):
        signature = inspect.signature(model.forward)
        call = api.call_implementation(type(model))
        definition = MethodDefinition(type(model), "_call_impl", call)
        names = names_of_tensors(model)
        return ExportTarget(
            api.copy_function(call), signature, (model,), tensors=names, definition=definition
        )
    if isinstance(model, FunctionType):
        function = original_of(model)
        return ExportTarget(function, inspect.signature(function))
    if isinstance(model, functools.partial):
        inner = find_target(model.func)
        return inner.with_fixed(model.args, model.keywords)
    if not isinstance(model, MethodType):
        found = inspect.getattr_static(type(model), "__call__", None)
        if not isinstance(found, FunctionType) or isinstance(model, type):
            raise make_argument_error(
                "export()", model, "a function, method, callable object or torch.nn.Module"
            )
        model = MethodType(found, model)
    owner, method = model.__self__, model.__func__
    if not isinstance(method, FunctionType):
        raise make_argument_error("export()", model, "a method with Python code")
    tensors = names_of_tensors(owner) if isinstance(owner, torch.nn.Module) else {}
    return ExportTarget(original_of(method), inspect.signature(model), (owner,), tensors=tensors)


def names_of_tensors(module: torch.nn.Module) -> dict[int, str]:
    """The tensors of a module by `id`, each with the first of its dotted names."""
    names: dict[int, str] = {}
    for prefix, part in module.named_modules():
        for name, tensor in _own_tensors(part):
            names.setdefault(id(tensor), f"{prefix}.{name}" if prefix else name)
    return names


def _own_tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters, buffers and plain attributes that are tensors, not those of its children."""
    for items in (module._parameters, module._buffers, vars(module)):
        for name, value in items.items():
            if isinstance(value, torch.Tensor):
                yield name, value
