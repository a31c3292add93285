"""What must still hold. The public names of this folder."""

from framesmith.guards.class_lookup import MISSING
from framesmith.guards.kinds.aliasing import (
    DistinctObjects,
    DistinctStorages,
    SameBase,
    SameObject,
    SameOverlap,
    SameStorage,
)
from framesmith.guards.kinds.ambient import AmbientValue, GlobalState
from framesmith.guards.kinds.attributes import ClassAttribute, HasInstanceAttribute
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.classes import ClassStructure
from framesmith.guards.kinds.containers import (
    HasKey,
    IteratorExhaustedAfter,
    IteratorHasAtLeast,
    KeysAre,
    LengthIs,
)
from framesmith.guards.kinds.ends import EndsUnseen
from framesmith.guards.kinds.functions import CodeIs
from framesmith.guards.kinds.gradient_nodes import NoNodeHooks, NoTensorHooks
from framesmith.guards.kinds.identity import Identical, NotIdentical, WeaklyIdentical
from framesmith.guards.kinds.modules import NoModuleHooks
from framesmith.guards.kinds.presence import Present
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.kinds.tensor import TensorChange, TensorIs, TensorProperty
from framesmith.guards.kinds.tensor_spec import TensorSpec
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.kinds.values import EqualTo, NotEqualTo, Truthy
from framesmith.guards.kinds.warning_hooks import ShowsWarningsPlainly
from framesmith.guards.kinds.weak_references import NotWeaklyObserved, is_weakly_observed

__all__ = [
    "MISSING",
    "AmbientValue",
    "Claim",
    "ClassAttribute",
    "ClassStructure",
    "CodeIs",
    "DistinctObjects",
    "DistinctStorages",
    "EndsUnseen",
    "EqualTo",
    "GlobalState",
    "HasInstanceAttribute",
    "HasKey",
    "Identical",
    "IteratorExhaustedAfter",
    "IteratorHasAtLeast",
    "KeysAre",
    "LengthIs",
    "NoModuleHooks",
    "NoNodeHooks",
    "NoTensorHooks",
    "NotEqualTo",
    "NotIdentical",
    "NotWeaklyObserved",
    "Present",
    "Relation",
    "SameBase",
    "SameObject",
    "SameOverlap",
    "SameStorage",
    "ShapeExpression",
    "ShowsWarningsPlainly",
    "TensorChange",
    "TensorIs",
    "TensorProperty",
    "TensorSpec",
    "Truthy",
    "TypeIs",
    "WeaklyIdentical",
    "is_weakly_observed",
]
