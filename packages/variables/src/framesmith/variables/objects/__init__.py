"""Trackers of instances, classes, exceptions and modules: attribute look-up, creation, special methods."""
