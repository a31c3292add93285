"""What an entry fills though its guards say that it is empty: no second call is like the first one, which makes that state.

    state = self.state[parameter]
    if len(state) == 0:
        state["step"] = ...         the first step of an optimizer
    if parameter.grad is None: ...  and `backward` gives it one

A compiler that takes seconds would do its work for one call: the call runs natively instead, once, and makes no entry.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import torch

from framesmith.guards import Member, Source
from framesmith.guards.comparison import same_constant
from framesmith.guards.kinds import EqualTo, HasInstanceAttribute, HasKey, KeysAre, LengthIs
from framesmith.guards.kinds.base import Claim
from framesmith.guards.sources import Attribute, Gradient, InstanceItem, Item, Local
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.tensors.tensors import TensorTracker

_LASTING: Final = (torch.nn.Module, torch.optim.Optimizer)


def find_filled_place(tx: TraceContext, find: Callable[[Source], Tracker | None]) -> Source | None:
    """A place that a guard says is empty and that the trace has filled; None if there is none. `find`: the tracker of what was read
    at a source."""
    changed = {one.source: one for one in tx.changes.changed_trackers() if one.source is not None}
    if not changed:
        return None
    for item in tx.guards.items:
        # Members speak of layers that are alike: what the trace changes is none.
        if isinstance(item, Member) or item.source is None or not isinstance(item.claim, Claim):
            continue
        if _is_filled(item.source, item.claim, changed) and _is_kept(item.source, find):
            return item.source
    return None


def _is_kept(place: Source, find: Callable[[Source], Tracker | None]) -> bool:
    """Whether the next call will find what is there now. An argument may be a new one in each call, such as the cache of a prompt,
    unless a module or an optimizer leads to the place."""
    path = (place, *place.ancestors())
    if not isinstance(path[-1], Local):
        return True
    return any(issubclass(one.python_type, _LASTING) for one in map(find, path) if one is not None)


def _is_filled(source: Source, claim: Claim, changed: Mapping[Source, Tracker]) -> bool:
    held = changed.get(source)
    match claim:
        case EqualTo(None):
            base = None if source.base is None else changed.get(source.base)
            return _is_value(_stored_at(base, source))
        case HasInstanceAttribute(name, False):
            return _is_value(_stored_as(held, name))
        case HasKey(key, False):
            return any(same_constant(added, key) for added in _added_keys(held))
        case KeysAre() | LengthIs():
            return any(True for _ in _added_keys(held))
        case _:
            return False


def _is_value(stored: Tracker | None) -> bool:
    return stored is not None and not (stored.is_python_constant() and stored.as_python_constant() is None)


def _stored_at(holder: Tracker | None, place: Source) -> Tracker | None:
    """What the trace has stored at a place of an existing object."""
    match place:
        case Gradient():
            return holder.own.get("grad") if isinstance(holder, TensorTracker) else None
        case InstanceItem(_, name) | Attribute(_, name):
            return _stored_as(holder, name)
        case Item(_, key) if isinstance(holder, DictTracker):
            stored = (item for item in holder.known_items.values() if item.changed or not item.original)
            return next((item.value for item in stored if same_constant(_constant(item.key), key)), None)
        case _:
            return None


def _stored_as(holder: Tracker | None, name: str) -> Tracker | None:
    return holder.own.pending.get(name) if isinstance(holder, InstanceTracker) else None


def _added_keys(holder: Tracker | None) -> Iterator[object]:
    """The keys that the trace has added to an existing dictionary: the tracker of one that is no constant."""
    if isinstance(holder, DictTracker):
        yield from (_constant(item.key) for item in holder.known_items.values() if not item.original)


def _constant(key: Tracker) -> object:
    return key.as_python_constant() if key.is_python_constant() else key
