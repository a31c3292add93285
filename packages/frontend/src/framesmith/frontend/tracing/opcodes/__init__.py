"""What each operation does to the symbolic machine, one family a module."""
