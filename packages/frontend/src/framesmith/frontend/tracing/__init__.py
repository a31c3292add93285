"""Symbolic execution of a function: frames, the interpreter and its opcodes, resume points, what is finalized."""
