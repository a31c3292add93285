"""Kernels of the program, written in Triton, on CUDA."""

import torch
from tests.cuda.support import program, random

try:
    import triton
    import triton.language as tl
except ImportError:
    HAS_TRITON = False
else:
    HAS_TRITON = True

if HAS_TRITON:

    @triton.jit
    def add_kernel(a, b, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, tl.load(a + i, mask=m) + tl.load(b + i, mask=m), mask=m)

    @program
    def triton_kernel():
        def f(x, y):
            out = torch.empty_like(x)
            n = x.numel()
            add_kernel[(triton.cdiv(n, 64),)](x * 2, y, out, n, BLOCK=64)
            return out.sin()

        return (f, [(random(size), random(size)) for size in (100, 100, 300)])

    @program
    def triton_grid_fn():
        def f(x, y):
            out = torch.empty_like(x)
            n = x.numel()
            add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=64)
            return out + 1

        return (f, [(random(size), random(size)) for size in (100, 100, 300)])
