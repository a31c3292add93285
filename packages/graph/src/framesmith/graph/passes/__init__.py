"""Passes over a closed graph: dead nodes dropped, equal stretches shared, a graph printed, what must hold of it."""
