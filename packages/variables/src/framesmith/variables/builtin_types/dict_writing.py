"""The code that makes a dict of the trace again after the graph, or brings an existing one up to date."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Final

from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.dict_items import DictItem, DictItems
from framesmith.variables.builtin_types.odict_attributes import Attributes, write_attributes
from framesmith.variables.builtin_types.sequences import reaches_itself
from framesmith.variables.core.base import Tracker, Writer

PLAIN_KINDS: Final = (dict, OrderedDict, defaultdict)
"""The types whose items are stored and deleted by statements; a derived type may define its own methods for these."""


def write_new_dict(
    writer: Writer,
    tracker: Tracker,
    cls: type,
    factory: Tracker | None,
    state: DictItems,
    attributes: Attributes,
) -> str:
    """Emit a new dict of one of `PLAIN_KINDS`: a display, or an empty one that is filled if it holds itself or has attributes."""
    stored, moved = state.in_stored_order(), state.items_to_move()
    # a display cannot name the dict, and attributes need a name to be set on
    if fills := bool(attributes) or reaches_itself(tracker):
        name = writer.define(tracker, _write_call(writer, cls, factory, "{}"), "dict")
        for item in stored:
            writer.statement(f"{name}[{writer.value(item.key)}] = {writer.value(item.value)}")
    else:
        pairs = [f"{writer.value(item.key)}: {writer.value(item.value)}" for item in stored]
        name = _write_call(writer, cls, factory, f"{{{', '.join(pairs)}}}")
    if moved and not fills:
        name = writer.define(tracker, name, "dict")
    _write_moves(name, moved, writer)
    write_attributes(name, attributes, writer)
    return name


def _write_call(writer: Writer, cls: type, factory: Tracker | None, display: str) -> str:
    if cls is dict:
        return display
    name = writer.constant(cls, class_name(cls))
    if cls is defaultdict:
        return f"{name}({'None' if factory is None else writer.value(factory)}, {display})"
    return f"{name}({'' if display == '{}' else display})"


def write_dict_changes(
    writer: Writer,
    place: str,
    cls: type,
    dropped: Iterable[Tracker],
    state: DictItems,
    deferred: Iterable[tuple[Tracker, Tracker]],
) -> None:
    """Emit what the trace did to an existing dict: keys deleted, values changed, items added and moved, deferred stores."""
    base = OrderedDict if issubclass(cls, OrderedDict) else dict
    is_plain = cls in PLAIN_KINDS
    store = "" if is_plain else writer.constant(base.__setitem__, "setitem")
    delete = "" if is_plain else writer.constant(base.__delitem__, "delitem")
    # before any store: a key that was deleted and stored again comes last in the order
    for key in dropped:
        name = writer.value(key)
        writer.statement(f"del {place}[{name}]" if is_plain else f"{delete}({place}, {name})")
    known_items = state.in_stored_order()
    changed = [item for item in known_items if item.original and item.changed]
    changed += [item for item in known_items if not item.original]
    text = "{}[{}] = {}" if is_plain else f"{store}({{}}, {{}}, {{}})"
    for item in changed:
        writer.statement(text.format(place, writer.value(item.key), writer.value(item.value)))
    # after all stores, when each key is there
    _write_moves(place, state.items_to_move(), writer)
    # last, as in the trace: nothing was looked up after the first of them
    for key, value in deferred:
        writer.statement(text.format(place, writer.value(key), writer.value(value)))


def _write_moves(place: str, moved: Iterable[DictItem], writer: Writer) -> None:
    """Emit the `move_to_end` calls that order an OrderedDict. The
    order of its dict part, which `dict.keys` shows, is kept."""
    for item in moved:
        move = writer.constant(OrderedDict.move_to_end, "move_to_end")
        writer.statement(f"{move}({place}, {writer.value(item.key)})")
