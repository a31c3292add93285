"""Classes of tensors that wrap others, for the tests: a pair of operands is torch's own `TwoTensor`."""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import return_and_correct_aliasing

ASKED: list[object] = []


class Tagged(torch.Tensor):
    """One tensor and a constant, which results have too; its sizes are those of the tensor."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, tag):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
            layout=elem.layout,
            requires_grad=elem.requires_grad,
        )

    def __init__(self, elem, tag):
        self.elem = elem
        self.tag = tag

    def __repr__(self):
        return f"{type(self).__name__}({self.elem}, {self.tag})"

    def __tensor_flatten__(self):
        return ["elem"], {"tag": self.tag}

    @classmethod
    def __tensor_unflatten__(cls, parts, context, outer_size, outer_stride):
        return cls(parts["elem"], context["tag"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = next(one for one in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(one, cls))
        plain, named = pytree.tree_map_only(cls, lambda one: one.elem, (args, kwargs))
        result = pytree.tree_map_only(torch.Tensor, lambda one: cls(one, first.tag), func(*plain, **named))
        return return_and_correct_aliasing(func, args, kwargs, result)


class Pair(torch.Tensor):
    """Two tensors of one size, which need not differ; it never requires a gradient."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.size(), dtype=a.dtype, device=a.device)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Pair({self.a}, {self.b})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @classmethod
    def __tensor_unflatten__(cls, parts, context, outer_size, outer_stride):
        return cls(parts["a"], parts["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def run(name):
            return func(*pytree.tree_map_only(cls, lambda one: getattr(one, name), args), **(kwargs or {}))

        return cls(run("a"), run("b"))


class Asked(Tagged):
    """Notes what its class and its methods are asked."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        ASKED.append(getattr(func, "__name__", str(func)))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def size(self, *dims):
        ASKED.append("size")
        return super().size(*dims)


class Sized(Tagged):
    """Keeps the size that was in the context, which only results have."""

    def __tensor_flatten__(self):
        return ["elem"], {"tag": self.tag, "rows": self.shape[0]}

    @classmethod
    def __tensor_unflatten__(cls, parts, context, outer_size, outer_stride):
        made = cls(parts["elem"], context["tag"])
        made.rows = context["rows"]
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(func, types, args, kwargs)
        rows = getattr(args[0], "rows", args[0].shape[0])
        return result * rows if func is torch.ops.aten.sin.default else result


class Quantized(torch.Tensor):
    """A matrix of floats as int8 with one scale for each row."""

    @staticmethod
    def __new__(cls, data, scale, dtype, shape):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device=data.device)

    def __init__(self, data, scale, dtype, shape):
        self.data_int8 = data
        self.scale = scale
        self.shown = dtype

    @classmethod
    def of(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale, weight.dtype, weight.shape)

    def __repr__(self):
        return "Quantized"

    def __tensor_flatten__(self):
        return ["data_int8", "scale"], [self.shown, self.shape]

    @classmethod
    def __tensor_unflatten__(cls, parts, context, outer_size, outer_stride):
        return cls(parts["data_int8"], parts["scale"], context[0], outer_size)

    def dequantize(self):
        return self.data_int8.to(self.shown) * self.scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear and isinstance(args[1], cls):
            data, weight, bias = args[0], args[1], args[2] if len(args) > 2 else None
            result = (data @ weight.data_int8.t().to(data.dtype)) * weight.scale.t()
            return result if bias is None else result + bias
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default):
            one = args[0]
            return cls(func(one.data_int8), func(one.scale), one.shown, one.shape)
        plain, named = pytree.tree_map_only(cls, lambda one: one.dequantize(), (args, kwargs or {}))
        return func(*plain, **named)


def show(value):
    """What a value is, down to the tensors in it."""
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            held = (type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad)
            if not hasattr(value, "__tensor_flatten__"):
                return *held, value.stride(), value.tolist(), value.is_leaf and show(value.grad)
            names = value.__tensor_flatten__()[0]
            constants = {
                name: one
                for name, one in vars(value).items()
                if not isinstance(one, torch.Tensor) and "dynamo" not in name and name != "_specialize_on"
            }
            gradient = show(value.grad) if value.is_leaf else None
            return *held, constants, {name: show(getattr(value, name)) for name in names}, gradient
    if isinstance(value, list | tuple):
        return type(value).__name__, [show(item) for item in value]
    if isinstance(value, dict):
        return {key: show(item) for key, item in value.items()}
    return type(value).__name__, repr(value)
