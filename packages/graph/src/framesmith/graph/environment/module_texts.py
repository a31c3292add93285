"""The text that fx makes of a module, kept in caches for tracebacks."""

import linecache

from torch import fx
from torch.fx.graph_module import _loader


def source_name(module: fx.GraphModule) -> str:
    """The name under which fx keeps the text of a module for tracebacks."""
    return module.forward.__code__.co_filename


def forget_source(name: str) -> None:
    """Delete the text of a module from the caches of fx and `linecache`, which would keep it for the life of the process."""
    _loader.eval_cache.pop(name, None)
    linecache.cache.pop(name, None)
