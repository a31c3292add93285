"""Polyfills: Python functions that are traced in place of C functions."""
