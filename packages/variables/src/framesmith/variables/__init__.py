"""Variable trackers: a symbolic stand-in for each kind of Python value that a traced program touches."""
