"""Polyfill of the attributes by which any tensor may count as a parameter or a buffer."""


def is_marked(instance: object, mark: str, of_type: bool) -> bool:
    """Whether the attribute is true, or the type alone makes it an instance."""
    return True if getattr(instance, mark, False) else of_type
