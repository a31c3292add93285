"""Calls of equal modules in one trace: the first is traced, later ones repeat what it recorded."""
