"""Passes over a closed graph: clean-up, shared subgraphs, its text, what must hold of it."""
