"""Symbolic numbers: torch's ShapeEnv, the nodes of symbols, what was decided about them."""
