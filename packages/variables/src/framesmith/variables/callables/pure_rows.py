"""The functions of the standard library that run while tracing when their operands are known.

C functions only need to be registered. Python functions that keep a cache (`re`) get a row, so that they are not
inlined.
"""

import binascii
import cmath
import math
import operator
import os
import re
import struct
import unicodedata
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import NATIVE_CALL
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import register_constant_type
from framesmith.variables.core.folding import fold
from framesmith.variables.core.pure import register_pure, register_pure_type
from framesmith.variables.core.table import CALLABLES, callable_name


def functions_of(module: ModuleType) -> list[Callable[..., object]]:
    """The C functions of a module."""
    return [value for value in vars(module).values() if isinstance(value, BuiltinFunctionType)]


for _module in (math, cmath, unicodedata, binascii):
    register_pure(functions_of(_module))
register_pure((os.fspath, str.maketrans))
register_pure((ord, chr, hex, oct, bin, operator.length_hint))
register_pure((struct.pack, struct.unpack, struct.calcsize, struct.unpack_from))
register_constant_type(re.Pattern)
register_constant_type(re.Match)
register_pure_type(re.Pattern, re.Match)


def _fold_row(function: Callable[..., object]) -> None:
    @CALLABLES.row(function)
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
    _fold_row(_function)
