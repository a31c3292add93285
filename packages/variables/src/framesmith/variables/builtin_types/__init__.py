"""Trackers of the builtin types, and the rows of their methods; the public names are in the modules."""
