"""The first call loads what it needs of torch's compiler; what comes after it finds torch as in a process without us."""

import json
import os
import subprocess
import sys

import pytest

BEGIN = """
import sys, torch
from framesmith import frontend
def gone(): return "torch._dynamo.convert_frame" not in sys.modules
compiled = frontend.compile(lambda x: (x * 2).relu() + 1, backend="eager")
x = torch.ones(3)
expected = compiled(x)
assert gone() and "torch._dynamo" not in sys.modules
"""

AFTER = {
    "training": """
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
frontend.compile(lambda x: torch.softmax(model(x), -1).sum(), backend="eager")(torch.ones(2, 3)).backward()
assert gone() and model[0].weight.grad is not None
""",
    "a seed": """
def seeded(x):
    torch.manual_seed(3)
    return x + torch.rand(3)
assert torch.equal(frontend.compile(seeded, backend="eager")(x), seeded(x))
torch._dynamo.reset
assert torch.equal(frontend.compile(seeded, backend="eager")(x), seeded(x)) and not gone()
""",
    "a setting": """
torch._dynamo.config.suppress_errors = True
assert gone() and torch._dynamo.config is sys.modules["torch._dynamo.config"]
torch._dynamo.reset()
assert not gone() and torch._dynamo.config.suppress_errors is True
""",
    "a stance": """
calls = []
def traced(x):
    if not torch.compiler.is_compiling():
        calls.append(1)
    return x + 1
served = frontend.compile(traced, backend="eager")
served(x)
assert not calls and gone()
with torch.compiler.set_stance("force_eager"):
    served(x)
assert calls and not gone()
served(x)
assert len(calls) == 1
""",
    "reset": """
made = []
def backend(graph, examples):
    made.append(graph)
    return graph.forward
counted = frontend.compile(lambda x: x + 1, backend=backend)
counted(x), counted(x)
assert len(made) == 1 and gone()
torch.compiler.reset()
counted(x)
assert len(made) == 2 and not gone()
""",
    "names": """
from torch._dynamo.eval_frame import OptimizedModule
import torch._dynamo as dynamo
assert dynamo.OptimizedModule is OptimizedModule is torch._dynamo.OptimizedModule
assert isinstance(torch.compile(torch.nn.ReLU()), OptimizedModule) and type(dynamo).__name__ == "module"
""",
    "a named break": """
def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2
assert torch.equal(frontend.compile(broken, backend="eager")(x), x * 2 + 2) and not gone()
""",
    "changing sizes": """
for n in (4, 5, 1, 0):
    assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 3.0))
""",
    "aot_eager": """
assert torch.equal(frontend.compile(lambda x: x.sin() + 1, backend="aot_eager")(x), x.sin() + 1)
""",
}


def run(program: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *args], capture_output=True, text=True, timeout=300
    )
    assert not done.returncode, done.stderr
    return done.stdout


# One process makes the first call, and each program goes on in a fork of it.
FORKS = """
import json, os, traceback
told = {}
for name, program in json.loads(sys.argv[1]).items():
    reader, writer = os.pipe()
    if not os.fork():
        text = ""
        try:
            exec(program, globals())
        except BaseException:
            text = traceback.format_exc()
        os.write(writer, (text or "good").encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as pipe:
        told[name] = pipe.read()
    os.wait()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told():
    """How each program went."""
    if not hasattr(os, "fork"):
        return {name: run(BEGIN + program) or "good" for name, program in AFTER.items()}
    return json.loads(run(BEGIN + FORKS, json.dumps(AFTER)).splitlines()[-1])


@pytest.mark.parametrize("after", AFTER)
def test_after_the_first_call_torchs_compiler_is_what_it_always_is(after, told):
    assert told[after] == "good"


GRAPHS = """
import torch._refs
from torch._subclasses.fake_tensor import FakeTensorMode
marks = [f for f in vars(torch._refs).values() if hasattr(getattr(f, "__wrapped__", None), "__dynamo_disable")]
assert not marks and not hasattr(FakeTensorMode.__torch_dispatch__.__wrapped__, "__dynamo_disable"), marks
def f(x):
    y = torch._refs.add(x, 1)
    z = torch._refs.nn.functional.relu(y)
    return torch._refs.exp(z) + x
said = torch._dynamo.explain(f)(torch.ones(3))
print(said.graph_count, said.graph_break_count, [str(one.reason) for one in said.break_reasons])
loaded = {name: sorted(vars(module)) for name, module in sys.modules.items() if name.startswith("torch._dynamo")}
print({name: [n for n in names if not n.startswith("__warningregistry")] for name, names in sorted(loaded.items())})
"""


def test_torch_compile_breaks_where_it_breaks_without_us():
    fresh = run("import sys, torch, torch._dynamo\n" + GRAPHS)
    assert run(BEGIN + "import torch._dynamo\n" + GRAPHS) == fresh


def test_traces_have_numbers_in_torchs_logs():
    program = BEGIN.replace(
        "import sys, torch", "import os; os.environ['TORCH_LOGS'] = '+dynamic'\nimport sys, torch"
    )
    program += "compiled(torch.ones(4)); compiled(torch.ones(5))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert not done.returncode and "[0/1]" in done.stderr, done.stderr[-3000:]
