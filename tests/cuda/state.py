"""Programs about devices and streams of CUDA."""

import torch
from tests.cuda.support import program, random
from torch import nn


@program
def factory_strings():
    def f(x):
        return (
            x
            + torch.ones(3, device="cuda")
            + torch.zeros(3, device=torch.device("cuda"))
            + torch.full((3,), 2.0, device="cuda:0")
            + torch.arange(3, device=x.device)
        )

    return (f, [(random(3),), (random(3),), (random(3),)])


@program
def device_facts():
    def f(x):
        return (
            x.device == torch.device("cuda"),
            x.device == torch.device("cuda:0"),
            x.device.type,
            x.device.index,
            x.is_cuda,
            x.get_device(),
            str(x.device),
            repr(x.device),
            x.cpu().device,
            x.cpu().is_cuda,
            x.cpu().get_device(),
            x * 2,
        )

    return (f, [(random(3),), (random(2),), (random(1),), (random(0),)])


@program
def moves():
    def f(x):
        y = x.cpu() + 1
        z = y.cuda() * 2
        w = y.to("cuda", non_blocking=True)
        return (
            y,
            z,
            w,
            y.to(x),
            z.to("cpu", torch.float64),
            z.to(device="cuda:0", copy=True),
            z is z.cuda(),
            z.cuda(0),
            z.cuda(device="cuda"),
        )

    return (f, [(random(3),), (random(4),), (random(5),)])


@program
def pinned():
    def f(x):
        y = x.pin_memory()
        return (y.is_pinned(), x.is_pinned(), y.to("cuda", non_blocking=True) + 1)

    return (f, [(torch.randn(3),), (torch.randn(4),), (torch.randn(5),)])


@program
def device_block():
    def f(x):
        with torch.cuda.device(0):
            y = x + torch.ones(3, device="cuda")
        with torch.cuda.device(x.device):
            y = y * 2
        with torch.cuda.device_of(x):
            y = y + 1
        return (y, torch.cuda.current_device())

    return (f, [(random(3),)] * 3)


@program
def device_queries():
    def f(x):
        p = torch.cuda.get_device_properties(0)
        return (
            x + 1,
            torch.cuda.is_available(),
            torch.cuda.device_count(),
            torch.cuda.get_device_name(0),
            torch.cuda.get_device_capability(),
            p.multi_processor_count,
            p.total_memory,
            torch.cuda.is_initialized(),
            torch.cuda.is_bf16_supported(),
            torch.version.cuda,
            torch.cuda.current_device(),
        )

    return (f, [(random(3),)] * 3)


@program
def set_device():
    def f(x):
        torch.cuda.set_device(0)
        y = x + 1
        torch.cuda.set_device("cuda:0")
        return y * 2

    return (f, [(random(3),)] * 3)


@program
def streams():
    def f(x):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            y = x.sin() * 2
        torch.cuda.current_stream().wait_stream(s)
        y.record_stream(torch.cuda.current_stream())
        return (y + 1, torch.cuda.current_stream() == torch.cuda.default_stream())

    return (f, [(random(3),)] * 3)


@program
def stream_outside():
    s = torch.cuda.Stream()

    def f(x):
        with torch.cuda.stream(s):
            y = x * 2
            inside = torch.cuda.current_stream() == s
        s.synchronize()
        return (y, inside, torch.cuda.current_stream() == s)

    return (f, [(random(3),)] * 3)


@program
def called_in_stream():
    stream = torch.cuda.Stream()

    def f(x):
        return (x * 2 + 1, torch.cuda.current_stream() == stream)

    def around(compiled, x):
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            inside = compiled(x)
        torch.cuda.synchronize()
        return (inside, compiled(x))

    return (f, [(random(3),)] * 3, around)


@program
def events():
    def f(x):
        a = torch.cuda.Event(enable_timing=True)
        b = torch.cuda.Event(enable_timing=True)
        a.record()
        y = x @ x
        b.record()
        b.synchronize()
        torch.cuda.synchronize()
        return (y, a.elapsed_time(b) > 0, b.query())

    return (f, [(random(8, 8),)] * 3)


@program
def mixed_devices():
    def f(x, y):
        try:
            return x + y
        except RuntimeError as e:
            return str(e)

    return (
        f,
        [
            (random(3), torch.randn(3)),
            (random(3), torch.tensor(2.0)),
            (random(3), random(3)),
            (random(3), torch.randn(1)),
            (torch.tensor(2.0), random(3)),
        ],
    )


@program
def mixed_devices_uncaught():
    def f(x, y):
        return x * 2 @ y

    return (
        f,
        [(random(3, 3), torch.randn(3, 3)), (random(3, 3), random(3, 3)), (random(3, 3), torch.randn(3, 3))],
    )


@program
def cpu_then_cuda():
    def f(x):
        return (x.sin() + torch.ones(x.shape[0], device=x.device), str(x.device))

    return (f, [(torch.randn(3),), (random(3),), (torch.randn(4),), (random(5),)])


@program
def nvtx():
    def f(x):
        torch.cuda.nvtx.range_push("a")
        y = x + 1
        torch.cuda.nvtx.range_pop()
        with torch.cuda.nvtx.range("b"):
            y = y * 2
        with torch.profiler.record_function("c"):
            y = y - 1
        return y

    return (f, [(random(3),)] * 3)


@program
def wrong_device():
    def f(x):
        try:
            return x.to("cuda:5")
        except Exception as e:
            return (type(e).__name__, str(e).split("\n")[0])

    return (f, [(random(3),)] * 3)


@program
def wrong_device_uncaught():
    def f(x):
        return torch.ones(3, device="cuda:7") + x

    return (f, [(random(3),)] * 3)


@program
def breaks_on_gpu():
    def f(x):
        y = x.sin()
        print("norm", round(float(y.norm()) >= 0))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            z = y @ y
            print("in", z.dtype)
            z = z @ z
        with torch.no_grad():
            print(torch.is_grad_enabled())
            z = z + 1
        return (z, torch.is_autocast_enabled("cuda"))

    return (f, [(random(4, 4),)] * 3)


@program
def break_in_stream():
    s = torch.cuda.Stream()

    def f(x):
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            y = x * 2
            print("x", torch.cuda.current_stream() == s)
            y = y + 1
            z = torch.cuda.current_stream() == s
        torch.cuda.current_stream().wait_stream(s)
        return (y, z, torch.cuda.current_stream() == s)

    return (f, [(random(4, 4),)] * 3)


@program
def raise_in_stream():
    s = torch.cuda.Stream()

    def f(x):
        try:
            with torch.cuda.stream(s):
                y = x * 2
                if y.sum() > -1000000000.0:
                    raise ValueError("no")
        except ValueError as e:
            return (str(e), torch.cuda.current_stream() == s)

    return (f, [(random(4, 4),)] * 3)


@program
def device_in_module():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)
            self.register_buffer("b", torch.ones(4))

        @property
        def device(self):
            return next(self.parameters()).device

        def forward(self, x):
            x = x.to(self.device)
            mask = torch.ones(x.shape[0], device=self.device).bool()
            return self.l(x)[mask] + self.b.to(x.device)

    m = M().to("cuda")
    return (m, [(torch.randn(3, 4),), (random(2, 4),), (random(3, 4),)])


@program
def tensor_types():
    def f(x):
        return (
            x.type(),
            x.cpu().type(),
            isinstance(x, torch.cuda.FloatTensor),
            isinstance(x, torch.FloatTensor),
            x.type("torch.cuda.DoubleTensor"),
            x.type(torch.cuda.HalfTensor),
            torch.cuda.FloatTensor(3).shape,
            x.new_zeros(2),
            x.new_tensor([1.0]),
        )

    return (f, [(random(3),)] * 3)
