"""What a node of a graph is made of: its arguments, the list of nodes, objects of the graph itself."""
