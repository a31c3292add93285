"""Calls of torch: what becomes one node of the graph, what is replaced, what is answered while tracing, what breaks."""
