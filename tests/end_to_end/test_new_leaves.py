"""Parameters and other leaves that a program makes while it runs: captured, with eager's values, identities and random numbers."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch import nn

from framesmith import frontend

PROGRAM = """
import torch
from torch import nn

torch.manual_seed(0)

def args():
    return (torch.arange(12.0).reshape(3, 4),)

{}
"""


def capture(body, **settings):
    return check_source(PROGRAM.format(body), breaks=0, tolerance=1e-6, **settings)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize(
    "result",
    [
        "nn.Linear(4, 2)(x), torch.rand(2)",
        "nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.LayerNorm(8))(x)",
        "nn.Conv1d(3, 5, 2)(x)",
        "(p := nn.Parameter(torch.randn(4))) * x, p, p.is_leaf, isinstance(p, nn.Parameter)",
        "nn.Parameter(torch.randn(4, 3).t()) * x",
        "nn.Parameter(torch.zeros(3, dtype=torch.long), requires_grad=False)",
        "nn.Parameter(x.mean(0)) * x",
        "nn.Linear(4, 2).to(x.device)(x)",
        "torch.ones(4, requires_grad=True) * x",
        "torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True) * x",
        "torch.autograd.Variable(torch.zeros(4), requires_grad=True) + x",
        "nn.Buffer(torch.zeros(4)) + x",
        "[len({id(p) for p in [nn.Parameter(torch.rand(4)) for _ in range(3)]}), torch.rand(1)]",
    ],
)
def test_a_leaf_made_in_the_function_is_captured(result, backend):
    capture(f"def f(x):\n    return {result}", backend=backend)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize(
    ("test", "made"),
    [
        ("self.w is None", "self.w = nn.Parameter(torch.randn(4))"),
        ("'v' not in self._parameters", "self.register_parameter('v', nn.Parameter(torch.ones(4)))"),
        ("self.w is None", "self.w = nn.Linear(4, 4).to(x.device)"),
    ],
)
def test_a_parameter_made_in_the_first_forward_is_kept(test, made, backend):
    module = f"""
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = None
    def forward(self, x):
        if {test}:
            {made}
        held = self.w if self.w is not None else self.v
        return x * held if isinstance(held, nn.Parameter) else held(x)

m = nn.Sequential(M(), M())
def f(x):
    return m(x), list(m.named_parameters())
"""
    report = capture(module, backend=backend)
    assert backend or report.graphs == 2


def test_modules_in_a_row_make_parameters_of_their_own():
    capture(
        """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        return self.inner(x) * nn.Parameter(torch.rand(4))

m = nn.Sequential(*[M() for _ in range(4)])
def f(x):
    return m(x)
""",
        backend="aot_eager",
    )


@pytest.mark.parametrize(
    "lines",
    [
        "return p, data",
        "kept.append(data)",
        "p.data.add_(1); return x + data",
        "p.data.add_(1); return x[:, :2] + view",
        "print('between'); p.data.add_(1); return x + data",
    ],
)
def test_a_parameter_shares_memory_with_its_tensor_where_that_is_used_later(lines):
    body = f"""
kept = []
def f(x):
    data = torch.zeros(4)
    view = data[:2]
    p = nn.Parameter(data)
    {lines}
    return p, kept
"""
    check_source(PROGRAM.format(body))


@pytest.mark.parametrize("made", ["nn.Parameter(torch.randn(4))", "nn.Linear(4, 4).weight"])
@pytest.mark.parametrize("after", ["return p, torch.rand(2), str(error)", "raise"])
def test_what_was_made_before_a_graph_raises_is_there_afterwards(made, after):
    capture(f"""
log = []
def f(x):
    p = {made}
    log.append(p)
    try:
        return torch.linalg.inv(torch.zeros(3, 3) * x.sum()), p
    except RuntimeError as error:
        {after}
""")


def test_training_a_module_that_was_just_made():
    capture(
        """
def f(x):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    for _ in range(2):
        net.zero_grad()
        net(x).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
    return list(net.parameters())
""",
        backward=False,
    )


def test_moving_a_module_to_where_it_is_changes_nothing():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(net, x):
        return net.to(x.device).float()(x), net

    check(forward, net, torch.randn(3, 4), breaks=0, tolerance=1e-6)


def test_a_leaf_can_be_made_by_setting_requires_grad():
    capture("""
def f(x):
    d = torch.randn(4)
    d.requires_grad = True
    (x * d).sum().backward()
    return d.grad, d
""")


def test_each_call_makes_another_parameter():
    @frontend.compile(fullgraph=True, backend="eager")
    def make():
        return nn.Parameter(torch.zeros(2))

    made = [make() for _ in range(3)]
    assert len({id(one) for one in made}) == len({one.data_ptr() for one in made}) == 3
    made[0].data.fill_(1)
    assert [one.sum().item() for one in made] == [2, 0, 0]
