"""Programs with modules and training steps on CUDA."""

import copy
import functools

import torch
from tests.cuda.support import program, random, register
from torch import nn
from torch.utils.checkpoint import checkpoint


class Exponential(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].exp()


@program
def custom_fwd():
    def f(x):
        x = x.detach().requires_grad_()
        with torch.autocast("cuda", dtype=torch.float16):
            y = Exponential.apply(x.half() @ x.half())
        y.sum().backward()
        return (y, x.grad)

    return (f, [(random(4, 4),)] * 3)


@program
def checkpoints():
    l = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU()).to("cuda")

    def f(x):
        y = checkpoint(l, x, use_reentrant=False).sum()
        l.zero_grad()
        y.backward()
        return (y, l[0].weight.grad.clone(), torch.rand(2, device="cuda"))

    return (f, [(random(3, 4),)] * 3)


@program
def module_moved():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def around(compiled, x, where):
        model.to(where)
        return compiled(x.to(where))

    places = ("cpu", "cuda", "cpu", "cuda")
    return (lambda x: model(x), [(random(3, 4), where) for where in places], around)


@program
def move_module_inside():
    def f(x):
        m = nn.Linear(4, 4).to(x.device)
        m2 = nn.Linear(4, 4, device=x.device).cuda()
        return m(x) + m2(x)

    return (f, [(random(3, 4),)] * 3)


@program
def convnet():
    m = (
        nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 2),
        )
        .to("cuda")
        .to(memory_format=torch.channels_last)
    )

    def f(x):
        y = m(x.contiguous(memory_format=torch.channels_last))
        m.zero_grad()
        y.sum().backward()
        return (y, m[0].weight.grad.clone(), m[1].running_mean.clone())

    return (f, [(random(2, 3, 8, 8),), (random(4, 3, 8, 8),), (random(3, 3, 9, 9),)])


@program
def lstm():
    m = nn.LSTM(4, 8, 2, batch_first=True, dropout=0.3).to("cuda")

    def f(x):
        m.flatten_parameters()
        y, (h, c) = m(x)
        m.zero_grad()
        y.sum().backward()
        return (y, h, c, m.weight_ih_l0.grad.clone())

    return (f, [(random(2, 5, 4),), (random(3, 5, 4),), (random(2, 6, 4),)])


@program
def transformer():
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1), 2).to(
        "cuda"
    )

    def f(x, train):
        m.train(train)
        with torch.set_grad_enabled(train):
            return m(x)

    return (
        f,
        [
            (random(2, 5, 16), True),
            (random(2, 5, 16), False),
            (random(3, 7, 16), False),
            (random(2, 5, 16), True),
        ],
    )


def steps(make):
    m = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 2)).to("cuda")
    o = make(m.parameters())

    def f(x):
        o.zero_grad()
        l = m(x).pow(2).mean()
        l.backward()
        o.step()
        return (l.detach(), [p.detach().clone() for p in m.parameters()])

    return (f, [(random(3, 4),) for _ in range(5)])


for name, mk in {
    "adam": lambda p: torch.optim.Adam(p),
    "adam_fused": lambda p: torch.optim.Adam(p, fused=True),
    "adam_capturable": lambda p: torch.optim.Adam(p, capturable=True),
    "adamw_foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "sgd_fused": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "adamw_tensor_lr": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01), capturable=True),
    "adamw_cuda_lr": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01, device="cuda"), capturable=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "nadam": lambda p: torch.optim.NAdam(p),
    "radam": lambda p: torch.optim.RAdam(p),
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "adagrad_fused": lambda p: torch.optim.Adagrad(p, fused=False),
    "rprop": lambda p: torch.optim.Rprop(p),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "adamax": lambda p: torch.optim.Adamax(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}.items():
    register("step_" + name, functools.partial(steps, mk))


@program
def grad_scaler():
    m = nn.Linear(4, 4).to("cuda")
    o = torch.optim.SGD(m.parameters(), 0.1)
    s = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2)

    def f(x, bad):
        o.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            l = m(x).pow(2).mean()
        l = l * (float("inf") if bad else 1.0)
        s.scale(l).backward()
        s.unscale_(o)
        n = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        s.step(o)
        s.update()
        return (l.detach(), n, m.weight.detach().clone(), s.get_scale())

    return (
        f,
        [
            (random(3, 4), False),
            (random(3, 4), True),
            (random(3, 4), False),
            (random(3, 4), False),
            (random(3, 4), False),
        ],
    )


@program
def clip_norms():
    m = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to("cuda")

    def f(x):
        m.zero_grad()
        m(x).sum().backward()
        return (
            nn.utils.clip_grad_norm_(m.parameters(), 0.5),
            nn.utils.get_total_norm([p.grad for p in m.parameters()]),
            m[0].weight.grad.clone(),
        )

    return (f, [(random(3, 4),)] * 3)


@program
def deep():
    m = nn.Linear(4, 4).to("cuda")

    def f(x):
        c = copy.deepcopy(m)
        return (c(x), c.weight.device, c.weight is m.weight)

    return (f, [(random(3, 4),)] * 3)


@program
def embedding_bag():
    m = nn.EmbeddingBag(10, 4, mode="mean").to("cuda")
    e = nn.Embedding(10, 4, sparse=False, max_norm=1.0).to("cuda")

    def f(i, o):
        return (m(i, o), e(i))

    return (f, [(torch.tensor([1, 2, 3, 4], device="cuda"), torch.tensor([0, 2], device="cuda"))] * 3)


@program
def hooks_cuda():
    m = nn.Linear(4, 4).to("cuda")
    seen = []
    m.register_forward_hook(lambda mod, i, o: seen.append(o.device.type))
    m.register_full_backward_hook(lambda mod, a, b: seen.append(b[0].device.type))

    def f(x):
        m.zero_grad()
        m(x).sum().backward()
        return (list(seen), m.weight.grad.clone())

    return (f, [(random(3, 4),)] * 3)


@program
def inference():
    m = nn.Linear(4, 4).to("cuda")

    def f(x):
        with torch.inference_mode():
            return m(x).half().float()

    return (f, [(random(3, 4),), (random(1, 4),), (random(0, 4),)])
