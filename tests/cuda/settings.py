"""Programs that ask and change settings on CUDA: autocast, random numbers, the default device, settings of kernels."""

import torch
import torch.nn.functional as F
from tests.cuda.support import program, random


@program
def autocast_new():
    def f(x, w):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = x @ w
        with torch.autocast(device_type="cuda"):
            z = x @ w
        with torch.autocast("cuda", enabled=False):
            u = x @ w
        return (y, z, u, y.dtype, torch.is_autocast_enabled("cuda"))

    return (f, [(random(8, 8), random(8, 8))] * 3)


@program
def autocast_old():
    def f(x, w):
        with torch.cuda.amp.autocast():
            y = F.linear(x, w).softmax(-1)
        with torch.cuda.amp.autocast(enabled=False):
            z = F.linear(x, w)
        return (y, z, y.dtype, torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype())

    return (f, [(random(8, 8), random(8, 8))] * 3)


@program
def autocast_decorated():

    @torch.autocast("cuda", dtype=torch.float16)
    def g(x, w):
        return ((x @ w).sum(), torch.get_autocast_dtype("cuda"))

    def f(x, w):
        return (g(x, w), x @ w)

    return (f, [(random(8, 8), random(8, 8))] * 3)


@program
def random_cuda():
    def f(x):
        return (
            x + torch.rand(3, device="cuda"),
            torch.randn_like(x),
            F.dropout(x, 0.5),
            torch.randint(0, 9, (4,), device="cuda"),
            torch.bernoulli(torch.full((5,), 0.5, device="cuda")),
            torch.randperm(7, device="cuda"),
            torch.empty(3, device="cuda").normal_(),
            torch.rand(2),
        )

    return (f, [(random(3),)] * 4)


@program
def seeds():
    def f(x):
        torch.cuda.manual_seed(3)
        a = torch.rand(3, device="cuda")
        torch.manual_seed(4)
        b = torch.rand(3, device="cuda")
        c = torch.rand(3)
        torch.cuda.manual_seed_all(5)
        d = torch.rand(3, device="cuda")
        return (a + x, b, c, d, torch.cuda.initial_seed())

    return (f, [(random(3),)] * 3)


@program
def generators():
    g = torch.Generator(device="cuda")
    g.manual_seed(7)

    def f(x):
        return (
            x + torch.rand(3, device="cuda", generator=g),
            torch.empty(3, device="cuda").uniform_(generator=g),
            g.device.type,
            g.initial_seed(),
        )

    return (f, [(random(3),)] * 3)


@program
def rng_state():
    def f(x):
        s = torch.cuda.get_rng_state()
        a = torch.rand(3, device="cuda")
        torch.cuda.set_rng_state(s)
        b = torch.rand(3, device="cuda")
        with torch.random.fork_rng():
            c = torch.rand(3, device="cuda")
        return (a + x, b, c, torch.rand(2, device="cuda"))

    return (f, [(random(3),)] * 3)


@program
def memory_stats():
    def f(x):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        y = x * 2
        return (
            y,
            torch.cuda.memory_allocated() > 0,
            torch.cuda.max_memory_allocated() > 0,
            isinstance(torch.cuda.memory_reserved(), int),
            len(torch.cuda.mem_get_info()),
        )

    return (f, [(random(3),)] * 3)


@program
def tf32():
    def f(x):
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = not before
        y = x @ x
        torch.backends.cuda.matmul.allow_tf32 = before
        z = x @ x
        return (
            y,
            z,
            before,
            torch.backends.cudnn.benchmark,
            torch.get_float32_matmul_precision(),
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.version(),
        )

    return (f, [(random(64, 64),)] * 3)


@program
def tf32_outside():
    def f(x):
        return x @ x

    def around(compiled, x, on):
        torch.backends.cuda.matmul.allow_tf32 = on
        try:
            return compiled(x)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    return (f, [(random(64, 64), True), (random(64, 64), False), (random(64, 64), True)], around)


@program
def cudnn_flags():
    def f(x, w):
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
            y = F.conv2d(x, w)
        return (y, torch.backends.cudnn.deterministic)

    return (f, [(random(2, 3, 8, 8), random(4, 3, 3, 3))] * 3)


@program
def default_device():
    def f(x):
        with torch.device("cuda"):
            a = torch.ones(3) + x
            l = nn.Linear(3, 3)
        b = torch.ones(3)
        return (a, b, l.weight.device, torch.get_default_device())

    return (f, [(random(3),)] * 3)


@program
def default_device_set():
    def f(x):
        return (
            torch.ones(3) + x.to(torch.get_default_device()),
            torch.tensor([1.0]),
            torch.empty(2).device,
        )

    def around(compiled, x, device):
        torch.set_default_device(device)
        try:
            return compiled(x)
        finally:
            torch.set_default_device(None)

    devices = ("cuda", "cpu", "cuda", "cuda:0")
    return (f, [(random(3), device) for device in devices], around)


@program
def generator_cpu_mistake():
    g = torch.Generator()

    def f(x):
        try:
            return torch.rand(3, device="cuda", generator=g)
        except RuntimeError as e:
            return str(e)

    return (f, [(random(3),)] * 3)
