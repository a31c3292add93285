"""Python's numbers that a graph holds as tensors, and the operations that need them as numbers."""
