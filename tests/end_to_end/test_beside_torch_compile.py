"""In a process where `torch.compile` has run before framesmith is imported: torch's compiler has changed some of torch by then."""

import subprocess
import sys

import pytest

BEFORE = {
    "nothing": "",
    "its module": "import torch._dynamo",
    "a function": "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))",
    "a step": """
p = torch.nn.Parameter(torch.ones(2)); p.grad = torch.ones(2)
torch.compile(torch.optim.Adam([p]).step, backend='eager')()
""",
    "a failure": """
try: torch.compile(lambda x: x + 1, backend=lambda module, examples: 1 / 0)(torch.ones(2))
except Exception: pass
""",
}
PROGRAM = """
import torch, warnings
warnings.simplefilter("ignore")
{before}
from framesmith import frontend
graphs = []
def backend(module, examples): graphs.append(module); return module.forward
assert frontend.compile(lambda x: x + 1, backend=backend, fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.NAdam):
    models = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2); optimizer = kind(model.parameters(), lr=0.1)
        def step(x):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
        call = frontend.compile(step, backend=backend, fullgraph=True) if compiled else step
        for n in (1, 2, 3): call(torch.full((2, 3), float(n)))
        models.append(model)
    for one, other in zip(models[0].parameters(), models[1].parameters()): torch.testing.assert_close(one, other)
print(len(graphs))
"""


@pytest.mark.parametrize("before", BEFORE)
def test_what_torch_compile_leaves_behind_changes_nothing(before):
    program = PROGRAM.format(before=BEFORE[before])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 5
