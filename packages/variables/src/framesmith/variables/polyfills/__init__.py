"""Trackers of one family; each module stands for itself."""
