"""Whole training steps of several kinds in one graph: parameters, buffers and random state are those of eager, bit for bit."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Categorical, Normal, kl_divergence

from framesmith import frontend


def adversarial():
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    first = optim.Adam(generator.parameters(), 1e-3, betas=(0.5, 0.999))
    second = optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.999))

    def step(real):
        ones, zeros = torch.ones(real.shape[0], 1), torch.zeros(real.shape[0], 1)
        made = generator(torch.randn(real.shape[0], 4))
        second.zero_grad()
        loss = F.binary_cross_entropy_with_logits(critic(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(critic(made.detach()), zeros)
        loss.backward()
        second.step()
        first.zero_grad()
        other = F.binary_cross_entropy_with_logits(critic(made), ones)
        other.backward()
        first.step()
        return loss.detach(), other.detach()

    return step, [generator, critic], lambda: (torch.randn(8, 2),)


def policy():
    body, actor, value = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.Linear(16, 3), nn.Linear(16, 1)
    parameters = [*body.parameters(), *actor.parameters(), *value.parameters()]
    optimizer = optim.Adam(parameters, 3e-3)

    def step(seen, action, before, advantage, gain):
        hidden = body(seen)
        chances = Categorical(logits=actor(hidden))
        ratio = (chances.log_prob(action) - before).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        loss = loss + 0.5 * F.mse_loss(value(hidden).squeeze(-1), gain) - 0.01 * chances.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
        return loss.detach()

    return (
        step,
        [body, actor, value],
        lambda: (
            torch.randn(8, 4),
            torch.randint(0, 3, (8,)),
            torch.randn(8),
            torch.randn(8),
            torch.randn(8),
        ),
    )


def convolution():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(4 * 36, 3)
    )
    optimizer = optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step, [model], lambda: (torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4,)))


def accumulating():
    model, calls = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)), [0]
    optimizer = optim.AdamW(model.parameters(), 1e-2)

    def step(x, y):
        loss = F.mse_loss(model(x), y) / 2
        loss.backward()
        calls[0] += 1
        if calls[0] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return step, [model], lambda: (torch.randn(4, 4), torch.randn(4, 1))


def autocast():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    optimizer = optim.AdamW(model.parameters(), 1e-2)

    def step(x, y):
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.mse_loss(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, [model], lambda: (torch.randn(4, 4), torch.randn(4, 1))


def averaging():
    model = nn.Linear(4, 2)
    average, optimizer = copy.deepcopy(model), optim.SGD(model.parameters(), 0.1)

    def step(x):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters()):
                kept.mul_(0.9).add_(new, alpha=0.1)
        return loss.detach()

    return step, [model, average], lambda: (torch.randn(4, 4),)


def variational():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)

    def step(x):
        mean, spread = encoder(x).chunk(2, -1)
        found = Normal(mean, (spread / 2).exp())
        loss = F.mse_loss(decoder(found.rsample()), x)
        loss = loss + kl_divergence(found, Normal(torch.zeros_like(mean), torch.ones_like(mean))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, [encoder, decoder], lambda: (torch.randn(5, 6),)


def make(training):
    torch.manual_seed(0)
    return training()


def tensors(modules):
    return [tensor for module in modules for tensor in module.state_dict().values()]


KINDS = [adversarial, policy, convolution, accumulating, autocast, averaging, variational]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("training", KINDS)
def test_steps_of_training_are_one_graph(training, backend):
    (step, modules, batch), (other, others, _) = make(training), make(training)
    compiled = frontend.compile(other, backend=backend, fullgraph=True)
    for number in range(8):
        torch.manual_seed(number)
        given = batch()
        expected, drawn = step(*given), torch.random.get_rng_state()
        torch.manual_seed(number)
        assert all(map(torch.equal, batch(), given))
        found = compiled(*given)
        assert torch.equal(torch.random.get_rng_state(), drawn)
        for left, right in zip(
            [expected] if isinstance(expected, torch.Tensor) else expected,
            [found] if isinstance(found, torch.Tensor) else found,
        ):
            assert torch.equal(left, right)
        assert all(map(torch.equal, tensors(modules), tensors(others)))


SCHEDULERS = {
    "steps": lambda optimizer: optim.lr_scheduler.StepLR(optimizer, 3, 0.5),
    "cosine": lambda optimizer: optim.lr_scheduler.CosineAnnealingLR(optimizer, 10),
    "one cycle": lambda optimizer: optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=30),
    "function": lambda optimizer: optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch),
}


@pytest.mark.parametrize(
    "make_optimizer", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, lr=0.01)]
)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_rate_that_a_scheduler_changes_is_a_number_of_the_graph(scheduler, make_optimizer):
    def training():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = make_optimizer(model.parameters())

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, model, SCHEDULERS[scheduler](optimizer)

    graphs = []

    def backend(module, examples):
        graphs.append(module)
        return module.forward

    (step, model, rate), (other, twin, twin_rate) = make(training), make(training)
    compiled, x = frontend.compile(other, backend=backend, fullgraph=True), torch.randn(16, 4)
    for _ in range(10):
        assert torch.equal(step(x), compiled(x))
        rate.step()
        twin_rate.step()
    assert all(map(torch.equal, tensors([model]), tensors([twin])))
    assert len(graphs) <= 3
