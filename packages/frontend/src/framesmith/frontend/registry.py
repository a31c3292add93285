"""The registry that traces use: that of `variables`, the directives of framesmith itself, and what the user has registered.

It is replaced, never changed: a trace keeps the one with which it began.
"""

import threading
from itertools import chain
from typing import Final, final

from framesmith.frontend import known_functions, marked_functions
from framesmith.frontend.exits import named_callers
from framesmith.frontend.tracing import deferred_calls, strict_breaks
from framesmith.variables import catalog
from framesmith.variables.core import Registry, Rows

OWN: Final = (
    known_functions.ROWS,
    marked_functions.ROWS,
    named_callers.ROWS,
    strict_breaks.ROWS,
    deferred_calls.ROWS,
)


@final
class RegistryHolder:
    """Holds the registry of the process, which is built when the first trace asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registry: Registry | None = None

    def current(self) -> Registry:
        """The registry as it is now."""
        # read without the lock: registries are replaced, never changed
        registry = self._registry
        if registry is None:
            with self._lock:
                registry = self._registry = self._registry or _build_registry()
        return registry

    def add(self, rows: Rows) -> None:
        """From now on, use these rows too. Raises DuplicateRow for a key that has a row."""
        with self._lock:
            self._registry = (self._registry or _build_registry()).with_rows(rows)

    def renew_lock(self) -> None:
        """In a forked child: no thread that held the lock exists there."""
        self._lock = threading.Lock()


def _build_registry() -> Registry:
    """The registry before the user has registered anything."""
    return catalog.registry().with_rows(chain.from_iterable(OWN))


REGISTRY: Final = RegistryHolder()
