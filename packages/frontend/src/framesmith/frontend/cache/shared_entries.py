"""What compiled functions of the same code have in common: entries, what was learnt about sizes and numbers, one lock.

    for block in blocks: compile(block)       24 functions with dispatchers, limits and histories of their own,
                                              one `SharedCache`: the first call compiles, the others find its entry

An entry serves whichever function its guards hold for. It is kept here as text with its code; each function that takes
it over binds it to its own cells and continuations, so nothing here refers to a compiled function (ADR 0022).
"""

import threading
import weakref
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from types import CodeType, FunctionType, MethodType
from typing import Final, TypeAlias, final

from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.portable import is_portable
from framesmith.frontend.cache.trace_start import ContinuationStart, FunctionStart
from framesmith.frontend.dynamic_marks import breaks_marks
from framesmith.frontend.events import EntryRecord
from framesmith.frontend.exits.ending import ResumeTarget
from framesmith.frontend.generated.entry import EntryCode
from framesmith.frontend.options import CompileOptions, Config
from framesmith.guards import GuardSet, Scope, Source, first_failure
from framesmith.variables.core import Registry

Settings: TypeAlias = tuple[object, ...]

#: Fields of the configuration that change nothing about an entry.
_NOT_OF_ENTRIES: Final = frozenset(
    {"recompile_limit", "fail_on_recompile_limit_hit", "error_on_recompile", "suppress_errors", "raise_bugs", "verify_code",
     "verify_entries", "disable", "compiler_collective_seconds"}
)  # fmt: skip
#: Entries of functions that are gone, kept for those that are still there. A bound on memory: a program that compiles
#: closures in a loop, with one value or another fixed in each, would collect entries without end.
_KEPT: Final = 32
#: Entries of other functions that a miss looks at, the newest first. A bound on time, for the same program.
_TRIED: Final = 32


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class SharedEntry:
    """An entry as it is shared, with what the trace rested on that no guard says.

    `settings` and `registry`: the configuration and what was registered. `unspecialized`: what the trace did not look at,
    since it changes from call to call of the function that it was made for.
    """

    built: BuiltEntry
    code: EntryCode
    record: EntryRecord
    settings: Settings
    registry: Registry
    unspecialized: frozenset[Source]
    is_promised: bool

    @property
    def guards(self) -> GuardSet:
        """What has to hold."""
        return self.built.text.guards

    def serves(
        self, scope: Scope, settings: Settings, registry: Registry, skipped: Collection[Source]
    ) -> bool:
        """Whether a trace of this call would give the same entry; `skipped` are the sources it would leave unspecialized."""
        return (
            # cheap questions before the guards, of which a model has hundreds
            self.settings == settings
            and self.registry is registry
            and self.unspecialized.issubset(skipped)
            and first_failure(self.guards, scope) is None
            and not breaks_marks(self.guards.tensors, scope, is_promised=self.is_promised)
        )


@final
class EntryCache:
    """The shared entries of one function or continuation, and what was learnt there from misses.

    It does not own the entries: those that took one over do.
    """

    def __init__(self) -> None:
        self.numbers: set[Source] = set()
        self.sizes: dict[Source, set[int]] = {}
        self._entries: list[weakref.ReferenceType[SharedEntry]] = []

    def add(self, entry: SharedEntry) -> None:
        """Add an entry, which is tried first: it was made with more knowledge than the others."""
        living = [one for one in self._entries if one() is not None]
        self._entries = [weakref.ref(entry), *living]

    def clear(self) -> None:
        """Forget everything."""
        self.numbers.clear()
        self.sizes.clear()
        self._entries.clear()

    def others(self, known: Collection[SharedEntry]) -> Iterator[SharedEntry]:
        """The newest entries, without the known ones."""
        tried = 0
        for reference in self._entries:
            entry = reference()
            if entry is not None and entry not in known:
                yield entry
                tried += 1
            if tried == _TRIED:
                return


@final
class SharedCache:
    """The entries of a function's code and of its continuations, for all functions of one key (see `SharedCaches.of`).

    `lock` is held while an entry is made: two functions that miss at the same time make one.
    """

    def __init__(self, held: object = None) -> None:
        self.lock = threading.RLock()
        self.root = EntryCache()
        self._held = held  # the objects whose ids are in the key
        self._continuations: weakref.WeakValueDictionary[ResumeTarget, EntryCache] = (
            weakref.WeakValueDictionary()
        )
        self._numbers: dict[tuple[CodeType, ...], set[Source]] = {}
        self._kept: deque[tuple[SharedEntry, EntryCache]] = deque(maxlen=_KEPT)

    def at(self, start: FunctionStart | ContinuationStart) -> EntryCache:
        """The entries of the function itself, or of one of its continuations."""
        if isinstance(start, FunctionStart):
            return self.root
        # the units of the continuation hold it: it goes with the last of them
        return self._continuations.setdefault(start.target, EntryCache())

    def numbers_of(self, codes: tuple[CodeType, ...]) -> set[Source]:
        """The variables of these frames whose numbers were seen to change, for all continuations of the same frames."""
        return self._numbers.setdefault(codes, set())

    def add(self, cache: EntryCache, entry: SharedEntry) -> None:
        """Add an entry. One that refers to nothing of the function for which it was made outlives that function."""
        cache.add(entry)
        if is_portable(entry.built, entry.guards):
            self._kept.append((entry, cache))

    def clear(self) -> None:
        """Forget everything."""
        self.root.clear()  # the same object, which each of the functions has
        self._continuations.clear()
        self._numbers.clear()
        self._kept.clear()


@final
class SharedCaches:
    """The caches of all functions that are compiled now, by key. They live as long as one of these functions does."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer that runs meanwhile may compile
        self._caches: weakref.WeakValueDictionary[tuple[object, ...], SharedCache] = (
            weakref.WeakValueDictionary()
        )

    def of(
        self, function: FunctionType, definition: MethodDefinition | None, options: CompileOptions
    ) -> SharedCache:
        """The cache for a function: of the same code over the same globals, found in the same place, compiled alike.

        Whether there are defaults counts as well, since they are only watched where there are any.
        """
        place = (
            ()
            if definition is None
            else (id(definition.cls), definition.name, id(definition.original), definition.may_be_shadowed)
        )
        namespace, code = function.__globals__, function.__code__
        defaults = (function.__defaults__ is None, function.__kwdefaults__ is None)
        # by identity, as guards know a code: two code objects are equal if their contents are
        key = (id(code), id(namespace), place, defaults, *_key_of(options))
        held = (code, namespace, definition, options)
        if not options.shares_entries:
            return SharedCache(held)
        with self._lock:
            found = self._caches.get(key)
            if found is None:
                found = self._caches[key] = SharedCache(held)
            return found

    def renew_lock(self) -> None:
        """In a forked child: no thread that held the lock exists there."""
        self._lock = threading.RLock()


CACHES: Final = SharedCaches()


def settings_of(config: Config) -> Settings:
    """What of the configuration an entry depends on."""
    return tuple([getattr(config, item.name) for item in fields(config) if item.name not in _NOT_OF_ENTRIES])


def _key_of(options: CompileOptions) -> tuple[object, ...]:
    """Options as a key: a backend that is no name counts by its identity, and so do values that are no plain constants."""
    given = options.backend
    backend: object = given if isinstance(given, str) else id(given)
    if type(given) is MethodType:  # a new object each time that it is read
        backend = id(given.__self__), id(given.__func__)
    return backend, options.fullgraph, options.dynamic, options.mode, _settings_key(options.backend_options)


def _settings_key(given: Mapping[str, object]) -> object:
    items = sorted(given.items())
    # with the type, since True and 1 are equal
    if all(type(value) in (bool, int, float, str, type(None)) for _, value in items):
        return tuple((name, type(value), value) for name, value in items)
    # `SharedCache` holds the options, so no other mapping gets this id
    return id(given)
