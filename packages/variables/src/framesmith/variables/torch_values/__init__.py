"""Trackers and rows for everything torch: tensors, symbolic numbers, graph functions, ambient switches, modules."""
