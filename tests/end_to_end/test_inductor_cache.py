"""Inductor's cache on disk: what one process has compiled, the next one loads."""

import json
import subprocess
import sys

import pytest

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
