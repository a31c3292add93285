"""Operators that take functions: a function traced into a nested graph, `torch.cond`, checkpoints, autograd functions."""
