"""Where a value came from. The public names of this folder."""

from framesmith.guards.sources.base import Source
from framesmith.guards.sources.computed import Computed
from framesmith.guards.sources.containers import (
    DictKeyAt,
    DictKeys,
    Item,
    IteratorPart,
    IteratorPeek,
    Length,
    SetItemAt,
)
from framesmith.guards.sources.functions import (
    CellContents,
    FunctionClosure,
    FunctionDefault,
    FunctionGlobals,
    FunctionKeywordDefault,
    MethodFunction,
    MethodSelf,
)
from framesmith.guards.sources.modules import buffer, parameter, submodule
from framesmith.guards.sources.roots import BuiltinName, Global, GlobalsDict, Local, Pinned
from framesmith.guards.sources.steps import (
    Attribute,
    CallResult,
    ClassDict,
    ClassDictItem,
    InstanceDict,
    InstanceItem,
    TypeOf,
    WeakReferent,
)
from framesmith.guards.sources.tensors import Gradient, TensorSize, TensorStorageOffset, TensorStride

ListItem = Item

__all__ = [
    "Attribute",
    "BuiltinName",
    "CallResult",
    "CellContents",
    "ClassDict",
    "ClassDictItem",
    "Computed",
    "DictKeyAt",
    "DictKeys",
    "FunctionClosure",
    "FunctionDefault",
    "FunctionGlobals",
    "FunctionKeywordDefault",
    "Global",
    "GlobalsDict",
    "Gradient",
    "InstanceDict",
    "InstanceItem",
    "Item",
    "IteratorPart",
    "IteratorPeek",
    "Length",
    "ListItem",
    "Local",
    "MethodFunction",
    "MethodSelf",
    "Pinned",
    "SetItemAt",
    "Source",
    "TensorSize",
    "TensorStorageOffset",
    "TensorStride",
    "TypeOf",
    "WeakReferent",
    "buffer",
    "parameter",
    "submodule",
]
