"""Programs that drop one kind of object each; importing them fills `KINDS`."""

from tests.end_to_end.dropped import conversions, owners, values
from tests.end_to_end.dropped.parts import KINDS

__all__ = ["KINDS", "conversions", "owners", "values"]
