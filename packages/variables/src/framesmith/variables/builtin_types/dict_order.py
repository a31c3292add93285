"""The order of an existing dict, and how C code copies one, without running code of a subclass."""

from collections import OrderedDict

from framesmith.guards import Source
from framesmith.guards.class_lookup import owner_of
from framesmith.guards.sources import CallResult, Item


def keys_in_order(value: dict[object, object]) -> list[object]:
    """The keys as iteration gives them, without code of a subclass: an OrderedDict keeps an order of its own."""
    return list(OrderedDict.__iter__(value) if isinstance(value, OrderedDict) else dict.__iter__(value))


def items_in_order(value: dict[object, object]) -> list[tuple[object, object]]:
    """The items, in the order of `keys_in_order`, read at once: another thread, or the end of an object that a weak dict
    holds, may change the dict while it is traced."""
    if not isinstance(value, OrderedDict):
        return list(dict.items(value))
    held = {
        id(key): (key, item) for key, item in list(dict.items(value))
    }  # a look-up would run the __hash__ of a key
    return [held[id(key)] for key in keys_in_order(value)]


def copies_items(cls: type) -> bool:
    """Whether C code copies the items of a dict subclass directly,
    without calling `keys` and `__getitem__` (CPython: `dict_merge`)."""
    return owner_of(cls, "__iter__") is dict


def list_values(value: object) -> object:
    """The values in order. A value whose key is no plain constant has a source that calls this and takes one by its index."""
    assert isinstance(value, dict)
    return [item for _, item in items_in_order(value)]


def place_of(source: Source, index: int, key: object, exact: bool) -> Source:
    """The source of a key's value: a look-up by the key if it
    can be written down, else its position among the values."""
    return Item(source, key) if exact else Item(CallResult(source, list_values), index)
