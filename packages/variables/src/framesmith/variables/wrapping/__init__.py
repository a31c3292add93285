"""Wrapping: from a real value and its source to a tracker with guards."""
