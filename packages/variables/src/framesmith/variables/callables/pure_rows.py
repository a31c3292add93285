"""The functions of the standard library that run while tracing when their operands are known.

C functions only need to be registered. Python functions that keep a cache (`re`) get a row, so that they are not
inlined.
"""

import binascii
import cmath
import math
import os
import re
import struct
import sys
import unicodedata
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType
from typing import Final

from torch.torch_version import TorchVersion

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.guards import Source
from framesmith.guards.kinds import Identical
from framesmith.variables.core import Constant
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import COMPARED_TYPES
from framesmith.variables.core.folding import fold
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name

ROWS: Final = Rows()


def functions_of(module: ModuleType) -> list[Callable[..., object]]:
    """The C functions of a module."""
    return [value for value in vars(module).values() if isinstance(value, BuiltinFunctionType)]


for _module in (math, cmath, unicodedata, binascii):
    ROWS.pure(functions_of(_module))
ROWS.pure((str.maketrans, sys.intern))
# `os.path` in C: of the text alone, no file is looked at
ROWS.pure(
    value
    for name in ("_path_normpath", "_path_splitroot", "_path_splitroot_ex")
    if (value := getattr(sys.modules[os.name], name, None)) is not None
)
ROWS.pure((ord, chr, hex, oct, bin))
ROWS.pure((struct.pack, struct.unpack, struct.calcsize, struct.unpack_from))
ROWS.constant_types(re.Pattern)
ROWS.constant_types(re.Match)
ROWS.pure_types(re.Pattern, re.Match)
# It compares as a version. Wrapped below, since a guard must not compare like that.
ROWS.add(COMPARED_TYPES, TorchVersion, None)
ROWS.constant_types(TorchVersion)


@ROWS.wrap(TorchVersion)
def wrap_version(tx: TraceContext, value: object, source: Source) -> Tracker:
    """`torch.__version__`, guarded by identity."""
    tx.guard(source, Identical(value))
    return Constant(value, source)


def _register_fold(function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def folded(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        for operand in (*args, *kwargs.values()):
            if not operand.is_python_constant():
                raise GraphBreak(NATIVE_CALL, f"{callable_name(function)} of {operand.describe()}")
        return fold(tx, function, args, kwargs)


for _function in (
    re.compile,
    re.match,
    re.search,
    re.fullmatch,
    re.sub,
    re.subn,
    re.split,
    re.findall,
    re.escape,
):
    _register_fold(_function)
