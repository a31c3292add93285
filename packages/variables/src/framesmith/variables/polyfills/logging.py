"""Polyfill of `logging.getLogger`, which takes a lock: a logger that exists is found without."""

import logging


def get_logger(name: object = None) -> logging.Logger:
    """`logging.getLogger(name)`."""
    if not name or (isinstance(name, str) and name == logging.root.name):
        return logging.root
    found = logging.Logger.manager.loggerDict.get(name) if isinstance(name, str) else None
    if isinstance(found, logging.Logger):
        return found
    new: logging.Logger = getattr(logging.Logger.manager, "getLogger")(name)  # noqa: B009  # any name: it raises
    return new
