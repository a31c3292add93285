"""A whole training step in one graph: parameters, gradients, the state of the optimizer and the loss as in eager, over twenty steps."""

import pytest
from tests.end_to_end.support import check_source

MODELS = {
    "mlp": "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))",
    "conv": (
        "nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 4, 2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3),"
        " nn.Flatten(), nn.Linear(36, 3))"
    ),
    "gpt": "GPT()",
}
GPT = """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rest = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.out(y))
        return x + self.rest(self.second(x))

class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(5, 8)
        self.blocks = nn.ModuleList([Block(8) for _ in range(3)])
        self.head = nn.Linear(8, 5, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        x = self.tokens(x.argmax(-1, keepdim=True).expand(-1, 3))
        for block in self.blocks:
            x = block(x)
        return self.head(x)[:, -1, :3]
"""
STEP = """
import torch
import torch.nn.functional as F
from torch import nn, optim
{classes}
torch.manual_seed(0)
model = {model}
optimizer = optim.{optimizer}
torch.manual_seed(1)

def f(xs, ys):
    {before}
    loss = F.cross_entropy(model(xs), ys)
    loss.backward()
    {between}
    optimizer.step()
    {after}
    return loss.detach()

def args():
    return torch.randn(5, 4), torch.randint(0, 3, (5,))
"""
OPTIMIZERS = (
    "SGD(model.parameters(), 0.1)",
    "SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD(model.parameters(), 0.1, momentum=0.9, foreach=False)",
    "Adam(model.parameters(), 0.01)",
    "Adam(model.parameters(), 0.01, foreach=False, amsgrad=True)",
    "AdamW(model.parameters(), 0.01)",
    "AdamW(model.parameters(), 0.01, fused=True)",
    "AdamW([{'params': [one], 'lr': 0.01 * (at + 1)} for at, one in enumerate(model.parameters())], 0.01)",
    "RMSprop(model.parameters(), 0.01, momentum=0.9, centered=True)",
    "Adagrad(model.parameters(), 0.05)",
    "Adadelta(model.parameters())",
    "Adamax(model.parameters(), 0.01)",
    "Rprop(model.parameters(), 0.01)",
    "NAdam(model.parameters(), 0.01, weight_decay=0.1, decoupled_weight_decay=True)",
    "NAdam(model.parameters(), 0.01, foreach=False)",
    "ASGD(model.parameters(), 0.05, weight_decay=0.1)",
    "ASGD(model.parameters(), 0.05, foreach=False, maximize=True)",
    "Adafactor(model.parameters(), 0.05, weight_decay=0.1)",
    "Adafactor(model.parameters(), 0.05, foreach=True, maximize=True)",
    "SGD(model.parameters(), torch.tensor(0.1), foreach=True)",
    "RMSprop(model.parameters(), torch.tensor(0.1), foreach=True)",
    "Adadelta(model.parameters(), torch.tensor(0.1), foreach=True)",
)


def step(
    model: str = "mlp",
    optimizer: str = "SGD(model.parameters(), 0.1)",
    before: str = "optimizer.zero_grad()",
    between: str = "pass",
    after: str = "pass",
) -> str:
    """A program that trains a model."""
    return STEP.format(
        classes=GPT, model=MODELS[model], optimizer=optimizer, before=before, between=between, after=after
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_of_each_optimizer_is_one_graph(optimizer):
    report = check_source(step(optimizer=optimizer), calls=5, backward=False, breaks=0)
    assert report.runs_per_call == [1] * 5


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "optimizer", ["SGD(model.parameters(), 0.1, momentum=0.9)", "AdamW(model.parameters(), 0.01)"]
)
def test_twenty_steps_are_those_of_eager_to_the_last_bit(model, optimizer):
    check_source(
        step(model, optimizer, "pass", "pass", "optimizer.zero_grad()"), calls=20, backward=False, breaks=0
    )


@pytest.mark.parametrize("model", MODELS)
def test_twenty_steps_under_autograd_of_the_backend(model):
    source = step(model, "AdamW(model.parameters(), 0.01)")
    check_source(source, calls=20, backward=False, breaks=0, backend="aot_eager", tolerance=1e-6)


@pytest.mark.parametrize("before", ["optimizer.zero_grad(set_to_none=False)", "model.zero_grad()", "pass"])
def test_gradients_are_kept_zeroed_or_dropped(before):
    check_source(step(before=before), calls=4, backward=False, breaks=0)


@pytest.mark.parametrize(
    "between",
    [
        "nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
        "nn.utils.clip_grad_value_(model.parameters(), 0.01)",
        "[one.grad.mul_(2) for one in model.parameters()]",
    ],
)
def test_gradients_are_changed_before_the_step(between):
    check_source(step(between=between), calls=4, backward=False, breaks=0)


def test_a_learning_rate_that_a_scheduler_changes():
    source = step(optimizer="SGD(model.parameters(), 0.1, momentum=0.9)") + (
        "\nscheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)\n"
        "inner = f\n"
        "def f(xs, ys):\n    loss = inner(xs, ys)\n    scheduler.step()\n    return loss\n"
    )
    check_source(source, calls=6, backward=False, tolerance=1e-7)


def test_two_optimizers_of_a_gan():
    check_source(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn, optim\ntorch.manual_seed(0)\n"
        "maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)\n"
        "first, second = optim.Adam(judge.parameters(), 0.01), optim.Adam(maker.parameters(), 0.01)\n"
        "def f(x):\n"
        "    made = maker(x)\n"
        "    first.zero_grad()\n"
        "    loss = F.softplus(-judge(x)).mean() + F.softplus(judge(made.detach())).mean()\n"
        "    loss.backward()\n"
        "    first.step()\n"
        "    second.zero_grad()\n"
        "    F.softplus(-judge(made)).mean().backward()\n"
        "    second.step()\n"
        "    return loss.detach()\n"
        "def args(): return (torch.ones(3, 2),)\n",
        calls=4,
        backward=False,
        breaks=0,
    )


def test_a_closure_that_the_step_calls():
    check_source(
        "import torch\nfrom torch import nn, optim\ntorch.manual_seed(0)\n"
        "model = nn.Linear(3, 2)\noptimizer = optim.SGD(model.parameters(), 0.1)\n"
        "def f(x):\n"
        "    def closure():\n"
        "        optimizer.zero_grad()\n"
        "        loss = model(x).pow(2).sum()\n"
        "        loss.backward()\n"
        "        return loss\n"
        "    return optimizer.step(closure).detach()\n"
        "def args(): return (torch.ones(3, 3),)\n",
        backward=False,
        breaks=0,
    )
