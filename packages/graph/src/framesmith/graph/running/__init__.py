"""A compiled graph as something that runs: its module, the code that Python executes for it, and which operation raised."""
