"""Guards on classes: bases and special methods stay as they are, and a look-up of one name gives the same, or nothing.

The first is `guard_structure`, on which every slot of the instances depends; the second, `guard_class_attribute`.
"""

from framesmith.guards import Guard, Reason
from framesmith.guards.class_lookup import is_immutable, qualified_name, resolution_order
from framesmith.guards.kinds import ClassAttribute, ClassStructure
from framesmith.guards.sources import Pinned
from framesmith.variables.core.base import TraceContext

_REASON = Reason("an object of the class is used", None)


def guard_structure(tx: TraceContext, cls: type) -> None:
    """Guard the bases and special methods of a class, once per trace; an immutable class needs no guard."""
    # with a log of facts each use is noted, also of a class that was guarded before
    if is_immutable(cls) or (not tx.guards.guard_once(cls) and tx.guards.facts is None):
        return
    source = Pinned(cls, qualified_name(cls))
    tx.note("has its bases and special methods", source)
    # claims about one class are equal, so the guard can be looked up before the class is captured, which takes long
    if Guard(source, ClassStructure(cls)) not in tx.guards:
        tx.guards.add(Guard(source, ClassStructure.capture(cls), _REASON))


def guard_class_attribute(tx: TraceContext, cls: type, name: str) -> None:
    """Guard the result of the static look-up of a name on a class, also that there is none."""
    # a name may turn up in any class of the resolution order, a mutable base included
    if not all(is_immutable(base) for base in resolution_order(cls)):
        tx.guard(
            Pinned(cls, qualified_name(cls)), ClassAttribute.capture(cls, name), "the trace looked it up"
        )
