"""A captured graph as something that runs: its module and text, and what follows when it raises."""
