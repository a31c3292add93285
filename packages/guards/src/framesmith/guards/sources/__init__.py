"""Where a value came from. The public names of this folder."""

from framesmith.guards.sources.base import Source
from framesmith.guards.sources.computed import Computed
from framesmith.guards.sources.containers import (
    DictKeyAt,
    DictKeys,
    Item,
    IteratorPart,
    IteratorPeek,
    SetItemAt,
)
from framesmith.guards.sources.functions import (
    CellContents,
    FunctionClosure,
    FunctionDefault,
    FunctionKeywordDefault,
    MethodFunction,
    MethodSelf,
)
from framesmith.guards.sources.modules import buffer, parameter, submodule
from framesmith.guards.sources.new_objects import NewObject, is_made
from framesmith.guards.sources.roots import Global, Local, Own, Pinned
from framesmith.guards.sources.steps import (
    Attribute,
    CallResult,
    ClassDict,
    ClassDictItem,
    InstanceDict,
    InstanceItem,
    WeakReferent,
)
from framesmith.guards.sources.tensors import (
    Gradient,
    TensorItem,
    TensorSize,
    TensorStorageOffset,
    TensorStride,
    Unasked,
)
from framesmith.guards.sources.values import ValuesOf

__all__ = [
    "Attribute",
    "CallResult",
    "CellContents",
    "ClassDict",
    "ClassDictItem",
    "Computed",
    "DictKeyAt",
    "DictKeys",
    "FunctionClosure",
    "FunctionDefault",
    "FunctionKeywordDefault",
    "Global",
    "Gradient",
    "InstanceDict",
    "InstanceItem",
    "Item",
    "IteratorPart",
    "IteratorPeek",
    "Local",
    "NewObject",
    "MethodFunction",
    "MethodSelf",
    "Own",
    "Pinned",
    "SetItemAt",
    "Source",
    "TensorItem",
    "TensorSize",
    "TensorStorageOffset",
    "TensorStride",
    "Unasked",
    "ValuesOf",
    "WeakReferent",
    "buffer",
    "is_made",
    "parameter",
    "submodule",
]
