"""The placeholders of a graph, one for each source, and what of them is guarded or kept."""
