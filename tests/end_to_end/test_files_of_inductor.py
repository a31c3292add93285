"""What inductor and AOTAutograd have written into their caches of files is found again by a later compilation."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from framesmith import frontend

PROGRAM = """
import json, sys
import torch
from torch._dynamo.utils import counters
from framesmith import frontend

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
compiled = frontend.compile(lambda x: model(x).sum(), backend="inductor")
compiled(torch.ones(3, 4)).backward()
print(json.dumps({name: counters["inductor"][name] for name in ("fxgraph_cache_hit", "fxgraph_cache_miss")}))
"""


@pytest.mark.inductor
def test_a_second_compilation_finds_the_files_of_the_first() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(3, 4)
    model(x).sum().backward()
    expected = model[0].weight.grad.clone()
    with fresh_cache():
        for found in (0, 1):
            counters.clear()
            model.zero_grad()
            frontend.compile(model.forward)(x).sum().backward()
            assert counters["aot_autograd"]["autograd_cache_hit"] == found
            torch.testing.assert_close(model[0].weight.grad, expected)
            frontend.reset()


@pytest.mark.inductor
def test_inputs_that_overlap_otherwise_have_files_of_their_own() -> None:
    def f(a, b):
        a.add_(1)
        b.mul_(2)
        return a * b

    with fresh_cache():
        compiled = frontend.compile(f)
        for left, right in [((0, 3), (3, 6)), ((0, 3), (1, 4)), ((0, 3), (0, 3)), ((0, 3), (3, 6))]:
            bases = [torch.arange(6.0) for _ in range(2)]
            found = [g(z[slice(*left)], z[slice(*right)]) for g, z in zip((f, compiled), bases, strict=True)]
            assert torch.equal(*found) and torch.equal(*bases)


@pytest.mark.inductor
def test_the_second_process_finds_what_the_first_one_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=500)
        assert "unable to load" not in done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    first, second = found
    assert first["fxgraph_cache_hit"] == 0 < first["fxgraph_cache_miss"]
    assert second == {"fxgraph_cache_hit": first["fxgraph_cache_miss"], "fxgraph_cache_miss": 0}
