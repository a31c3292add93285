"""Gradients that a graph computes itself: `torch.autograd.grad`, `Tensor.backward`."""
