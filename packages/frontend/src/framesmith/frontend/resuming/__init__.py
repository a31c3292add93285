"""Continuations: the frames of a resume point put together again, symbolically for the next trace or natively."""
