"""Programs with operations on CUDA: data from the device, indices, numbers, kernels of the program."""

import torch
import torch.nn.functional as F
from tests.cuda.support import program, random


@program
def cpu_index():
    def f(x, i):
        return (x[i], x[i.cuda()], x.index_select(0, i.cuda()))

    return (
        f,
        [
            (random(5), torch.tensor([0, 2])),
            (random(5), torch.tensor([1])),
            (random(5), torch.tensor([], dtype=torch.long)),
        ],
    )


@program
def masks_items():
    def f(x):
        n = (x > 0).sum().item()
        y = x[x > 0]
        return (
            n,
            y,
            y.shape[0],
            x.nonzero(),
            torch.unique(x.round()),
            x.max().item() if x.numel() else None,
            x.tolist(),
        )

    return (f, [(random(5),), (random(6),), (random(0),), (random(1),)])


@program
def sdpa_kernels():
    def f(q):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            a = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
            b = F.scaled_dot_product_attention(q, q, q)
        return (a, b, F.scaled_dot_product_attention(q, q, q), torch.backends.cuda.flash_sdp_enabled())

    return (f, [(random(1, 2, 16, 16, dtype=torch.bfloat16),)] * 3)


@program
def numpy_of_cuda():
    def f(x):
        try:
            return (x * 2).numpy()
        except TypeError as e:
            return str(e)

    return (f, [(random(3),)] * 3)


@program
def numpy_back():
    def f(x):
        return torch.from_numpy((x * 2).detach().cpu().numpy() + 1).cuda()

    return (f, [(random(3),)] * 3)


@program
def half_ops():
    def f(x):
        return (
            x.half() @ x.half(),
            x.bfloat16().softmax(0),
            x.to(torch.float8_e4m3fn).float(),
            torch.finfo(x.half().dtype).max,
            x.half().sum(),
        )

    return (f, [(random(16, 16),)] * 3)


@program
def data_ptrs():
    def f(x):
        y = x * 2
        v = y[1:]
        return (
            y,
            v.data_ptr() - y.data_ptr(),
            y.is_contiguous(),
            v.storage_offset(),
            y.untyped_storage().nbytes(),
            y.untyped_storage().device.type,
        )

    return (f, [(random(3),)] * 3)


@program
def in_place_views():
    def f(x):
        y = x.view(2, 2)
        y[0] += 1
        y.t().mul_(2)
        x.data[0] = 5
        return (y, x)

    return (f, [(random(4),), (random(4),), (random(4),)])


@program
def scatter_gather():
    def f(x, i):
        return (
            x.scatter_add(0, i, x),
            torch.zeros(4, device="cuda").index_add_(0, i, x),
            x.gather(0, i),
            torch.bincount(i, minlength=5),
            x.cumsum(0),
            x.sort(),
            x.topk(2),
        )

    return (
        f,
        [
            (random(4), torch.tensor([0, 1, 2, 3], device="cuda")),
            (random(4), torch.tensor([3, 1, 0, 2], device="cuda")),
            (random(4), torch.tensor([3, 1, 0, 2], device="cuda")),
        ],
    )


@program
def sparse_quant():
    def f(x):
        s = x.to_sparse()
        return (s.indices(), s.values(), (s @ x).device, s.to_dense())

    return (f, [(random(3, 3),)] * 3)


@program
def requires_sync():
    def f(x):
        t = 0
        for v in x:
            t = t + v if v > 0 else t - v
        return (t, bool((x > 0).all()), float(x[0]), f"{x.sum().item() >= 0}")

    return (f, [(random(4),), (random(4),), (random(3),)])


@program
def where_cpu_scalar():
    def f(x):
        return (
            torch.where(x > 0, x, torch.tensor(0.0)),
            x + torch.tensor(3),
            torch.clamp(x, min=torch.tensor(0.0, device="cuda")),
            x.masked_fill(x > 0, torch.tensor(7.0)),
            torch.full_like(x, 2),
            torch.tensor(x.sum().item(), device="cuda"),
        )

    return (f, [(random(4),)] * 3)


@program
def func_transforms():
    def f(x):
        return (vmap(grad(lambda a: a.sin().sum()))(x), jacrev(lambda a: a @ a)(x))

    return (f, [(random(3, 3),)] * 3)


@program
def dlpack():
    def f(x):
        return (torch.from_dlpack(x) + 1, x.__cuda_array_interface__["shape"], x.__dlpack_device__()[1])

    return (f, [(random(3),)] * 3)
