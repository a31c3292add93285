"""The comparison of the end-to-end tests, made fit for anything a mutation can put into a world.

Tensors of any class, dtype and state are compared bit by bit (nan equals nan, 0.0 does not equal -0.0).
"""

import enum
import re
from typing import Any

import torch
from tests.end_to_end.compare import Comparison, Difference

MADE_ANEW = ("program", "torch.nn.utils.parametrize")
"""Modules whose classes may be made for one world."""
CPP_FRAMES = re.compile(r"\n(Exception raised from .*\n)?(frame #\d+: .*(\n|$))+")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def without_addresses(text: str) -> str:
    """Addresses in texts are those of other objects in the other world; frames of C++ are not the program's."""
    return ADDRESS.sub("0x", CPP_FRAMES.sub("", text))


class Robust(Comparison):
    """One walk over both sides."""

    def same(self, eager: Any, compiled: Any, path: str) -> None:
        """As in the base class; members of enums are alike when their names and values are."""
        if isinstance(eager, enum.Enum) and type(eager).__module__ == "program":
            self._equal(type(eager), type(compiled), path, "type")
            return self._equal(*map(_member, (eager, compiled)), path, "member")
        super().same(eager, compiled, path)

    def _equal(self, eager: Any, compiled: Any, path: str, what: str) -> None:
        if isinstance(eager, type) and isinstance(compiled, type) and eager.__module__ in MADE_ANEW:
            eager, compiled = eager.__qualname__, compiled.__qualname__
        super()._equal(eager, compiled, path, what)

    def _atom(self, eager: Any, compiled: Any, path: str) -> None:
        if isinstance(eager, str):
            eager, compiled = without_addresses(eager), without_addresses(compiled)
        if isinstance(eager, complex):  # nan does not equal itself, and 0.0 equals -0.0
            eager, compiled = repr(eager), repr(compiled)
        super()._atom(eager, compiled, path)

    def _tensor(self, eager: torch.Tensor, compiled: torch.Tensor, path: str) -> None:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for name in ("shape", "dtype", "device", "requires_grad", "is_leaf", "layout"):
                self._equal(told(eager, name), told(compiled, name), f"{path}.{name}", "value")
            self._equal(eager.is_inference(), compiled.is_inference(), f"{path}.is_inference()", "value")
            self._equal(
                eager._backward_hooks is None, compiled._backward_hooks is None, f"{path} hooks", "presence"
            )
            if eager.layout is torch.strided:
                self._equal(eager.stride(), compiled.stride(), f"{path}.stride()", "value")
                self._equal(
                    eager.storage_offset(), compiled.storage_offset(), f"{path}.storage_offset()", "value"
                )
                self._storage(eager, compiled, path)
            self._numbers(eager.detach(), compiled.detach(), path)
            grads = (eager.grad, compiled.grad) if told(eager, "is_leaf") is True else (None, None)
        if told(eager, "is_leaf") is True:
            self.same(*grads, f"{path}.grad")
        self._attributes(eager, compiled, path)

    def _numbers(self, eager: torch.Tensor, compiled: torch.Tensor, path: str) -> None:
        if eager.layout is not torch.strided or eager.device.type == "meta":
            return
        if self._rtol:
            alike = torch.allclose(eager, compiled, self._rtol, self._atol, equal_nan=True)
        else:
            if eager.dtype is torch.complex32:  # torch.equal does not know it
                eager, compiled = (torch.view_as_real(one.resolve_conj()) for one in (eager, compiled))
            alike = torch.equal(eager, compiled) and same_signs(eager, compiled)
            if not alike and (eager.is_floating_point() or eager.is_complex()):
                left, right = (
                    torch.view_as_real(one.resolve_conj()) if one.is_complex() else one
                    for one in (eager, compiled)
                )
                nan = left.isnan()
                alike = (
                    torch.equal(nan, right.isnan())
                    and torch.equal(left[~nan], right[~nan])
                    and torch.equal(left[~nan].signbit(), right[~nan].signbit())
                )
        if not alike:
            raise Difference(f"{path}: numbers are {eager!r} eagerly, {compiled!r} compiled")


def _member(one: enum.Enum) -> str:
    return f"{vars(one).get('_name_')} {vars(one).get('_value_')!r}"


def same_signs(eager: torch.Tensor, compiled: torch.Tensor) -> bool:
    """Whether zeros have the same signs."""
    if not eager.is_floating_point():
        return not eager.is_complex()
    return torch.equal(eager.signbit(), compiled.signbit())


def told(tensor: torch.Tensor, name: str) -> object:
    """An attribute, or how it is refused: of a view that was written with other modes than its base even `is_leaf` is."""
    try:
        return getattr(tensor, name)
    except RuntimeError as error:
        return str(error)
