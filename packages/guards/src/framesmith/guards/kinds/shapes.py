"""Relations between numbers (sizes, strides, integers) that the symbolic shapes of the graph assume.

Which relations there are is found out by `graph.shape_guards`.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword
from typing import ClassVar, cast, final

from framesmith.guards.comparison import same_constant
from framesmith.guards.infix import Infix, find_asked, write_formula
from framesmith.guards.kinds.base import Relation, show_value
from framesmith.guards.names import Names, PlainNames
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.computed import write_source

_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShapeExpression(Relation):
    """A Python expression over sources that is true: `ShapeExpression("{0} % 8 == 0", (size,))`.

    `{0}`, `{1}` ... are replaced by the sources; other names are looked up in `functions`, then in the table below
    (`Mod`, `FloorDiv`, `Max`, `math` ...). `expression` may hold the sympy relation the text was printed from.
    """

    # `or`, `and` and `Where` may leave a source unread.
    reads_all: ClassVar[bool] = False

    template: str
    sources: tuple[Source, ...]
    functions: Mapping[str, object] = field(default_factory=dict)
    expression: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        highest = max((int(number) for number in _PLACEHOLDER.findall(self.template)), default=-1)
        if highest >= len(self.sources):
            raise ValueError(f"{self.template!r} mentions {{{highest}}}, but has {len(self.sources)} sources")
        # A digit in place of each source, so that the number in a placeholder joins no name.
        for name in _NAME.findall(_PLACEHOLDER.sub("0", self.template)):
            if not iskeyword(name) and name not in self.functions and name not in FUNCTIONS:
                raise ValueError(
                    f"{self.template!r} uses {name!r}: give it in `functions` (known: {[*FUNCTIONS]})"
                )

    def comparison_fields(self) -> tuple[object, ...]:
        return (self.template, self.sources)

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return self.sources

    def holds(self, values: Sequence[object]) -> bool:
        text = self.render([f"v{index}" for index in range(len(self.sources))], names := PlainNames())
        return bool(_compiled(text, len(self.sources), tuple(names.constants.items()))(*values))

    def render(self, expressions: Sequence[str], names: Names) -> str:
        def named(match: re.Match[str]) -> str:
            name = match.group()
            if iskeyword(name):
                return name
            return names.constant(self.functions.get(name, FUNCTIONS.get(name)), name)

        # Not one substitution after the other: expressions of sources hold names that are no functions.
        pieces = _PLACEHOLDER.split(self.template)  # text, number, text, number, ... text
        pieces[::2] = [_NAME.sub(named, piece) for piece in pieces[::2]]
        pieces[1::2] = [expressions[int(number)] for number in pieces[1::2]]
        return f"({''.join(pieces)})"

    def explain(self, values: Sequence[object]) -> str:
        found = ", ".join(
            f"{source.text()} = {show_value(value)}"
            for source, value in zip(self.sources, values, strict=True)
        )
        asked = find_asked(self._formula())
        if asked is not None:
            was, now = asked[1], not asked[1]
            return f"{write_formula(asked[0], self._written()).text} was {was} and is {now}"
        return f"{self.text()} no longer holds ({found})"

    def text(self) -> str:
        return write_formula(self._formula(), self._written()).text

    def _formula(self) -> str:
        return _PLACEHOLDER.sub(r"v\1", self.template)

    def _written(self) -> list[Infix]:
        return [write_source(source) for source in self.sources]


@lru_cache(maxsize=1024)
def _compiled(text: str, count: int, constants: tuple[tuple[str, object], ...]) -> Callable[..., object]:
    parameters = ", ".join(f"v{index}" for index in range(count))
    return cast(Callable[..., object], eval(f"lambda {parameters}: {text}", dict(constants)))


def _int_true_division(left: int, right: int) -> float:
    return left / right


def _where(condition: bool, yes: object, no: object) -> object:
    return yes if condition else no


def _modular_indexing(base: int, divisor: int, modulus: int) -> int:
    return (base // divisor) % modulus


def _floor_to_int(value: float) -> int:
    return math.floor(value)


#: What sympy's and torch's printers call the functions of shape expressions.
FUNCTIONS: Mapping[str, object] = {
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": lambda left, right: -(-left // right),
    "ModularIndexing": _modular_indexing,
    "IntTrueDiv": _int_true_division,
    "FloatTrueDiv": _int_true_division,
    "PowByNatural": operator.pow,
    "FloatPow": math.pow,
    "Where": _where,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "FloorToInt": _floor_to_int,
    "CeilToInt": math.ceil,
    "TruncToInt": math.trunc,
    "RoundToInt": round,
    "ToFloat": float,
    "max": max,
    "min": min,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "round": round,
    "floor": math.floor,
    "ceiling": math.ceil,
    "sqrt": math.sqrt,
    "math": math,
    "same": same_constant,
    "isfinite": math.isfinite,
    "type": type,
    "nan": math.nan,
    "inf": math.inf,
}
