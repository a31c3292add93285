"""What `export` is made of: the example call, the shapes that may differ, the refusal of side effects, the exported graph.

A trace gives an entry: loads, a graph, lines that put the result together. Here the same entry is run once over the nodes
of a graph in place of tensors, and what it returns is the output of that graph. How an entry is made: `build_entry`.
"""
