"""Trackers of functions and methods, and rows for builtin callables; the public names are in the modules."""
