"""Names of sizes that were declared to be independent, and that the program ties: `x[1:] + y` needs b = c + 1.

Which ties there are is found out by `graph.shapes.size_ties`. Sizes with `torch.export.Dim.AUTO`, `Dim.DYNAMIC`
or marks have no name: they are narrowed.
"""

from collections.abc import Iterable

from framesmith.frontend.errors import DynamicSizeFixed, ExportError
from framesmith.frontend.exporting.dynamic_shapes import ExportPolicy
from framesmith.frontend.exporting.named_sizes import form_of
from framesmith.frontend.user_lines import with_source
from framesmith.graph.shapes.size_ties import LinearSize, SizeTie, find_ties
from framesmith.guards import Guard, Source
from framesmith.guards.sources.tensors import TensorSize


def check_names(guards: Iterable[Guard], policy: ExportPolicy, function: str) -> None:
    """Raise ExportError where the guards of a trace tie two names, and DynamicSizeFixed where they fix one."""

    def name_of(source: Source) -> LinearSize | None:
        if not isinstance(source, TensorSize) or source.base is None:
            return None
        found = policy.find_declared(source.base)
        size = None if found is None else found.named.get(source.dim)
        return None if size is None else form_of(size)

    ties = find_ties(guards, name_of)
    if not ties:
        return
    places = _places(policy)
    fixed = [
        f"{places[tie.names[0]]}, and the program works where {tie.text} only{_line(tie)}"
        for tie in ties
        if len(tie.names) == 1
    ]
    if fixed:
        raise DynamicSizeFixed(function, fixed, ("dynamic_shapes",))
    listed = "".join(
        f"\n  {tie.text}, where {' and '.join(places[name] for name in tie.names)}{_line(tie)}{_remedy(tie)}"
        for tie in ties
    )
    raise ExportError(
        f"{function} ties sizes that dynamic_shapes declares to be independent:{listed}\n"
        "torch.export.Dim.AUTO in place of a name takes whatever the program asks of a size."
    )


def _places(policy: ExportPolicy) -> dict[str, str]:
    """Where each name was declared, in words."""
    found: dict[str, str] = {}
    for declared in policy.declared.values():
        for dim, size in declared.named.items():
            text = f"dimension {dim} of {declared.path} is declared as {size.__name__}"
            name = form_of(size).name
            if size.__name__ == name or name not in found:
                found[name] = text
    return found


def _line(tie: SizeTie) -> str:
    return "" if tie.user_frame is None else f"; it is asked at {with_source(tie.user_frame)}"


def _remedy(tie: SizeTie) -> str:
    if not tie.replacements:
        return ""
    changes = " and ".join(f"{text} in place of {name}" for name, text in tie.replacements.items())
    return f"\n    declare {changes}"
