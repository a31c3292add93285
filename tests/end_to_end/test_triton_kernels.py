"""Kernels of Triton in a compiled function: what stands around a launch is captured, and the launch runs natively. Where Triton is not
installed nothing asks for it. The kernels run in Triton's interpreter, which needs no device."""

import importlib.util
import os
import subprocess
import sys

PROGRAM = """
import torch, triton, triton.language as tl
from torch.library import triton_op, wrap_triton
from framesmith import frontend
from framesmith.frontend import api

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = places < n
    tl.store(out_ptr + places, tl.load(x_ptr + places, mask=known) + tl.load(y_ptr + places, mask=known), mask=known)

def launch(x, y):
    x, out = x.sin(), torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out * 2

def by_options(x, y):
    out, n = torch.empty_like(x), x.numel()
    add[lambda options: (triton.cdiv(n, options["BLOCK"]),)](x + 1, y, out, n, BLOCK=16)
    return out * 2

def in_place(x, y):
    add[(2,)](x, y, x, x.numel(), BLOCK=16)
    return x.cos() + y

def wrapped(x, y):
    out = torch.empty_like(x)
    wrap_triton(add)[(2,)](x, y, out, x.numel(), BLOCK=16)
    return out * 2

@triton_op("framesmith_tests::add", mutates_args={})
def add_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(add)[(2,)](x, y, out, x.numel(), BLOCK=16)
    return out

def by_operator(x, y):
    return add_op(x.sin(), y) * 2

for program in (launch, by_options, in_place, wrapped, by_operator):
    for backend in ("eager", "aot_eager"):
        compiled = frontend.compile(program, backend=backend)
        for call in range(3):
            found = []
            for function in (program, compiled):
                x, y = torch.arange(20.0) + call, torch.ones(20)
                found.append((function(x, y), x, y))
            for one, other in zip(*found):
                torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
        kinds = {one.kind for one in api.session_of(compiled).history.breaks}
        assert kinds == {"operation-raises" if program is by_operator else "native-call"}, (program, kinds)
print("done")
"""
WITHOUT = """
import sys, torch
from framesmith import frontend
frontend.compile(lambda x: x.sin() * 2, backend="aot_eager")(torch.ones(3))
print("triton" in sys.modules)
"""


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_launches(tmp_path) -> None:
    if importlib.util.find_spec("triton") is None:
        assert run(WITHOUT) == "False\n"
        return
    file = tmp_path / "program.py"  # Triton reads the text of a kernel from its file
    file.write_text(PROGRAM)
    assert run(f"import runpy; runpy.run_path({str(file)!r})", TRITON_INTERPRET="1") == "done\n"
