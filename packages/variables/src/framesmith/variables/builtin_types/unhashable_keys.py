"""The hash key of a value that a dict or a set takes in or searches for: its TypeError has that container's words.

From Python 3.14 on a dict says "cannot use 'list' as a dict key (unhashable type: 'list')" where `hash()` says only
what stands in brackets. The words are asked from the interpreter, with a class of the same name.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Never

from framesmith.guards.class_lookup import class_name, module_of, qualified_name
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception, raise_observed

Use = Callable[[Hashable], object]


class UnhashableValue(ObservedException):
    """The TypeError of `hash()` for a value without a hash, with its text."""

    def __init__(self, tx: TraceContext, message: str) -> None:
        super().__init__(new_exception(tx, TypeError, message))
        self.message = message


def as_dict_key(item: Hashable) -> object:
    """What a dict does with a key."""
    # a search words its error as a store does
    return item in {1: 2}


def as_set_item(item: Hashable) -> object:
    """What a set does with an item."""
    return item in {1}


def as_common_item(item: Hashable) -> object:
    """What an intersection does with an item: its TypeError for an unhashable one has words of its own."""
    return {1}.intersection([item])


_WORDS_DIFFER: Final = (OrderedDict,)
"""Types whose methods word the TypeError for an unhashable key in two ways: some as a dict does, some as `hash()` does."""


def hash_key_of(tx: TraceContext, value: Tracker, use: Use, cls: type = dict) -> Hashable:
    """`value.hash_key(tx)`; its TypeError as a container of that kind raises it when it uses the value like this."""
    try:
        return value.hash_key(tx)
    except UnhashableValue as error:
        words = _words(value.python_type, error.message, use)
        if words == error.message:
            raise
        if issubclass(cls, _WORDS_DIFFER):
            value.unsupported(f"using it as a key of {class_name(cls)}")
        raise_observed(tx, TypeError, words)


def _words(cls: type, message: str, use: Use) -> str:
    """The text of the TypeError when an instance of a class whose hash fails with `message` is used."""

    def fail(self: object) -> Never:
        raise TypeError(message)

    # the class has the same names, as the text shows them
    named = {"__module__": module_of(cls), "__qualname__": qualified_name(cls), "__hash__": fail}
    try:
        use(type(class_name(cls), (), named)())
    except TypeError as error:
        return str(error)
    return message
