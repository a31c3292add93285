"""A captured graph as a GraphModule whose text is written when somebody reads it.

fx writes and compiles the text of a graph whenever a GraphModule is made. That is a tenth of a trace, and the eager backend needs no
text of the graph, only a function that runs it: that is written with each repeated stretch as one call (`run_text`). Whoever reads `code`, pickles or copies the module, or changes the graph and calls `recompile`, gets what fx writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, TracebackType
from typing import Final, cast, final

import torch
from torch import fx
from torch.fx.graph import PythonCode
from torch.fx.graph_module import _loader

from framesmith.graph.running.module_calls import CALL
from framesmith.graph.running.run_text import NotWritable, RunText, stretches_before
from framesmith.graph.running.stretch_calls import Stretch, StretchCall, find_shared

_PENDING: Final = "_run_form_of_new_module"
_FORM: Final = "run_form"
_TEXTS: Final = frozenset({"_code", "_lineno_map", "_prologue_start"})


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunForm:
    """The function that runs a graph, with what a failure has to know of it: which stretch a line runs, the names of values in
    the functions of stretches."""

    forward: FunctionType
    functions: Mapping[CodeType, Stretch]
    calls: Mapping[int, StretchCall]

    def locate(self, traceback: TracebackType) -> tuple[TracebackType | None, dict[str, object]]:
        """For a run that raised: the traceback below the graph, and the values by the names of their nodes. None stands for a
        value that was dropped; the name of an operation that did not return is missing."""
        # A copy: what is added below belongs to no frame.
        found = dict(traceback.tb_frame.f_locals)
        for done in stretches_before(self.calls, traceback.tb_lineno):
            for node in done.stretch:
                found.setdefault(node.name, None)
        call, inner = self.calls.get(traceback.tb_lineno), traceback.tb_next
        pattern = None if inner is None else self.functions.get(inner.tb_frame.f_code)
        if call is None or inner is None or pattern is None:
            return inner, found
        held = inner.tb_frame.f_locals
        for one, node in zip(pattern, call.stretch, strict=True):
            if one.name in held:
                found[node.name] = held[one.name]
        return inner.tb_next, found


def run_form(graph: fx.Graph, groups: Iterable[Sequence[Stretch]]) -> RunForm | None:
    """The function for a graph, short where stretches are repeated; None if it holds what only fx can write."""
    shared = find_shared(graph, groups)
    try:
        written = RunText(graph, shared)
    except NotWritable:
        return None
    namespace = dict(written.globals)
    source = "\n".join(written.lines)
    name = _loader.cache(source, namespace, None)  # as fx does, for tracebacks
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    functions = {
        cast(FunctionType, namespace[name]).__code__: one.calls[0].stretch
        for name, one in zip(written.functions, shared, strict=True)
    }
    return RunForm(cast(FunctionType, namespace.pop("forward")), functions, written.calls)


class CapturedModule(fx.GraphModule):
    """The GraphModule of a captured graph.

    Invariant: `forward` does what fx's text of the graph says, as of the last `recompile`. Copies are as fx makes them.
    """

    def __init__(self, root: torch.nn.Module, graph: fx.Graph, class_name: str, form: RunForm) -> None:
        # Before the constructor, which calls `recompile`.
        self.__dict__[_PENDING] = form
        super().__init__(root, graph, class_name)

    def recompile(self) -> PythonCode:
        """fx's text of the graph, compiled; for a new module the short form."""
        form: RunForm | None = self.__dict__.pop(_PENDING, None)
        if form is None:
            return super().recompile()
        # fx, too, sets these on the class, which is that of this instance alone
        for name, value in ((_FORM, form), ("forward", form.forward), ("__call__", _call)):
            setattr(type(self), name, value)
        # Nobody reads it: the constructor drops what it gets.
        return PythonCode("", {}, None)

    def __getattr__(self, name: str) -> torch.Tensor | torch.nn.Module:
        """What torch finds for an attribute that is not there; a text that fx keeps in one is written now."""
        if name in _TEXTS:
            made = self.graph.python_code(root_module="self")
            self._code, self._lineno_map = made.src, made._lineno_map
            self._prologue_start = made._prologue_start
            return cast(torch.nn.Module, self.__dict__[name])  # as torch declares all such attributes
        return super().__getattr__(name)

    def __reduce__(self) -> tuple[object, ...]:
        """What fx pickles: the text."""
        assert self.code is not None  # fx takes the attributes before it writes the text
        return super().__reduce__()


def _call(module: fx.GraphModule, *args: object, **kwargs: object) -> object:
    return getattr(module, CALL)(module, *args, **kwargs)


def run_form_of(module: fx.GraphModule) -> RunForm | None:
    """The short function of a module, if it has one."""
    form: RunForm | None = getattr(type(module), _FORM, None)
    return form
