"""Whether the fake of a tensor that wraps others may have symbolic sizes. Such fakes are made in `shapes.shape_env`."""

import torch
from torch._subclasses import FakeTensorMode


def adds_attributes(value: torch.Tensor) -> bool:
    """Whether a fake of this wrapper holds what the wrapper does not.

    `__tensor_unflatten__` may store what it takes from the context, such as a size: a plain number in the fake, which no guard on the
    wrapper would hold.
    """
    # With plain sizes, and in a mode of its own: the fakes of the trace are not made twice.
    try:
        fake = FakeTensorMode().from_tensor(value, static_shapes=True)
    except Exception:  # code of the class; where the trace makes its own fake, the graph breaks
        return True
    return not vars(fake).keys() <= vars(value).keys()
