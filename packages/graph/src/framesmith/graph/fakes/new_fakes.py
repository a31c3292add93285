"""Fakes that show metadata and no more, made quickly: results of repeated operations, ordinary inputs.

torch's constructor spends most of its time on its parameters and on attributes that are the same in all of them. The first
fake of each device comes from there, all others get copies of its attributes. Fakes with more to show: `shape_env`.
"""

from typing import Final, final

import torch
from torch._C import _DisableTorchDispatch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

META: Final = torch.device("meta")


@final
class NewFakes:
    """Makes fakes for one mode.

    Invariant: for each device, fakes with the attributes in `_states` are like those that torch's constructor makes.
    """

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode: Final = mode
        self._states: dict[torch.device, dict[str, object] | None] = {}

    def like(self, other: torch.Tensor, *, requires_grad: bool = False) -> torch.Tensor:
        """A fake with the sizes, strides, dtype and device of a tensor, and memory of its own. It is a leaf."""
        with _DisableTorchDispatch():
            plain = torch.empty_strided(other.shape, other.stride(), dtype=other.dtype, device=META)
            state = self._states.get(other.device)
            if state is not None:
                return self._copy(state, plain, requires_grad)
            return self._fake(plain, other.device, requires_grad)

    def over_quietly(self, plain: torch.Tensor, device: torch.device) -> torch.Tensor:
        """A fake over a meta tensor, which is a leaf that requires no gradient, where torch's dispatch to fakes is off."""
        state = self._states.get(device)
        if state is not None:
            return self._copy(state, plain, requires_grad=False)
        return self._fake(plain, device, requires_grad=False)

    def _fake(self, plain: torch.Tensor, device: torch.device, requires_grad: bool) -> torch.Tensor:
        """One of torch's own making; the first for a device tells whether copies of its attributes will do from then on."""
        made = FakeTensor(self.mode, plain, device, requires_grad=requires_grad)
        if device not in self._states:
            self._states[device] = self._state_of(made, plain, requires_grad)
        return made

    def _state_of(
        self, made: FakeTensor, plain: torch.Tensor, requires_grad: bool
    ) -> dict[str, object] | None:
        """The attributes of a fake, if a copy of them makes another tensor like it."""
        # torch's constructor differs from release to release, so the copy is tried out instead of trusted.
        state: dict[str, object] = dict(vars(made))
        if not isinstance(state.get("_fake_device"), torch.device):
            return None
        other = self._copy(state, plain, requires_grad)
        same_keys = torch._C._dispatch_keys(made).raw_repr() == torch._C._dispatch_keys(other).raw_repr()
        return state if same_keys and made.device == other.device and vars(other) == state else None

    def _copy(self, state: dict[str, object], plain: torch.Tensor, requires_grad: bool) -> torch.Tensor:
        """A fake over a meta tensor, with these attributes."""
        device = state["_fake_device"]
        assert isinstance(device, torch.device)
        fake = torch.Tensor._make_subclass(
            FakeTensor, plain, requires_grad, dispatch_device=True, device_for_backend_keys=device
        )
        if self.mode._allow_unsafe_data_ptr_access:
            torch._C._set_warn_deprecated_on_mutable_data_ptr(fake)
        else:
            torch._C._set_throw_on_mutable_data_ptr(fake)
        vars(fake).update(state)
        return fake
