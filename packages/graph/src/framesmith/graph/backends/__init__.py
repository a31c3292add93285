"""The backend: found and called, what it may not replace, and graphs in parts."""
