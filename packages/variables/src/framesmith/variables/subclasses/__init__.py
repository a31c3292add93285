"""Tensors of classes with `__torch_function__`, and how torch asks them: trackers, calls of the method, its default."""
