"""`export`: a program as one graph with the user's own inputs and outputs, or an error that says why it cannot be one.

The parts are in `exporting`: the example call, dynamic shapes, the outer graph.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from torch import fx

from framesmith.frontend.argument_checks import COMPILE_OPTIONS, check_callable, refuse_options
from framesmith.frontend.build_entry import BuiltEntry, EntryBuilder
from framesmith.frontend.cache.session_state import SessionState
from framesmith.frontend.cache.trace_start import NEVER_COMPILED, FunctionStart, make_scope
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.compile_arguments import check_interpreter
from framesmith.frontend.errors import DynamicSizeFixed, ExportError
from framesmith.frontend.exits.ending import ResumeTarget
from framesmith.frontend.exporting.dynamic_shapes import ExportPolicy, mark_tensors, read_declarations
from framesmith.frontend.exporting.effects import EffectsWatch
from framesmith.frontend.exporting.example import ExampleCall, bind_call, flatten_call
from framesmith.frontend.exporting.input_check import make_input_error
from framesmith.frontend.exporting.named_sizes import find_relations
from framesmith.frontend.exporting.outer_graph import OuterGraph
from framesmith.frontend.exporting.target import find_target
from framesmith.frontend.exporting.tied_names import check_names
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.user_lines import function_text, place_text, with_source
from framesmith.graph.backends.kept_values import forget_kept
from framesmith.graph.shapes.shape_guards import Specialized
from framesmith.guards import first_failure
from framesmith.guards.words import write_count


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exported:
    """The answer of `export`; it unpacks into `graph_module, guards`.

    `graph_module` takes the arguments of the example, in the same containers, and returns what the program returns. It holds the
    program's own parameters and buffers under their dotted names. `guards` are what the trace rests on, as text. Calling this
    object checks them before it calls the module; its text is that of the graph.
    """

    graph_module: fx.GraphModule
    guards: tuple[str, ...]
    _example: ExampleCall
    _built: BuiltEntry
    _start: FunctionStart
    _names: UserNames
    _policy: ExportPolicy

    def __repr__(self) -> str:
        count = sum(
            node.op not in ("placeholder", "get_attr", "output") for node in self.graph_module.graph.nodes
        )
        return f"<Exported {self._names.function}: {write_count(count, 'operation')}, {write_count(len(self.guards), 'guard')}>"

    def __str__(self) -> str:
        return f"{self!r}\n{self.graph_module.print_readable(print_output=False)}"

    def __iter__(self) -> Iterator[object]:
        return iter((self.graph_module, self.guards))

    def __getitem__(self, index: int) -> object:
        return (self.graph_module, self.guards)[index]

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """The program's result for these arguments. Raises ExportError where the exported graph does not hold for them."""
        values = bind_call(self._example.target, args, kwargs)
        parameters = Signature.of_function(self._start.code).names
        scope = make_scope(self._start, parameters, values)
        failure = first_failure(self._built.text.guards, scope)
        if failure is not None:
            text, differs = self._names.text(failure.text), self._policy.is_to_differ(failure)
            raise make_input_error(self._names.function, text, is_to_differ=differs)
        return self.graph_module(*args, **kwargs)


_NOT_TAKEN: Final = (
    *COMPILE_OPTIONS,
    "strict",
    "preserve_module_call_signature",
    "prefer_deferred_runtime_asserts_over_guards",
)
"""Options of `compile`, and of `torch.export.export`."""


_ONE_BY_ONE: Final = (
    "export() takes the arguments of the call one by one, where torch.export.export takes a tuple: "
    "export(model, x, y) or export(model)(x, y)"
)


def export(
    model: Callable[..., object],
    *extra_args: object,
    dynamic_shapes: object = None,
    **extra_kwargs: object,
) -> Any:
    """One graph of the whole program. `export(fn)(*args, **kwargs)` traces the call, without running it, and gives `Exported`.

    Sizes, numbers and texts of the example are fixed, but for the sizes that `dynamic_shapes` declares, in the forms of
    `torch.export.export`, or that are marked with `mark_dynamic`. Raises FullGraphError at a graph break; ExportError for side
    effects, for a result that a graph cannot return, and for declarations that do not fit; DynamicSizeFixed where the program
    works for one value of a declared size only.
    `torch.export.export(exported.graph_module, args)` makes an ExportedProgram of the result.
    """
    check_callable("export()", model)
    refuse_options("export()", model, extra_kwargs, _NOT_TAKEN, "leave it out: export() takes dynamic_shapes")
    if extra_args or extra_kwargs:
        try:
            return export(model, dynamic_shapes=dynamic_shapes)(*extra_args, **extra_kwargs)
        except Exception as error:
            if (len(extra_args) == 1 and type(extra_args[0]) is tuple) or "args" in extra_kwargs:
                error.add_note(_ONE_BY_ONE)
            raise

    def run(*args: object, **kwargs: object) -> Exported:
        check_interpreter()
        example = flatten_call(find_target(model), args, kwargs)
        return export_call(example, dynamic_shapes, args, kwargs)

    return run


def export_call(
    example: ExampleCall, dynamic_shapes: object, args: tuple[object, ...], kwargs: dict[str, object]
) -> Exported:
    """Trace the example and put the exported graph together."""
    target = example.target
    start = FunctionStart(target.function, target.definition)
    names = UserNames(start, target.definition)
    if start.code.co_flags & NEVER_COMPILED:
        raise ExportError(
            f"{names.function} is a generator function or a coroutine function; export a function that consumes what it returns"
        )
    values = example.bind(example.leaves)
    declared = read_declarations(
        dynamic_shapes, example.arguments_with_places(), (target.as_called(), args, kwargs)
    )
    relations = find_relations(declared.sizes.values())
    options = CompileOptions(keep_graph, fullgraph=True, shares_entries=False, exports=True)
    state = SessionState(options, definition=target.definition)
    places = make_scope(start, Signature.of_function(start.code).names, example.bind(example.places()))
    policy = ExportPolicy(declared.sizes, numbers=declared.numbers, places=places)
    watch = EffectsWatch(names.function)
    builder = EntryBuilder(start, options, policy, state.on_break, watch=watch)
    with mark_tensors(list(declared.sizes.values())), state.lock:
        try:
            built = builder.build(values)
        except DynamicSizeFixed as error:
            raise names.rename(error, policy.said_by) from None
    check_numbers(policy, watch.fixed, names.function)
    if built.refusal is not None:
        # nothing is run, so the operation that would raise an error of the user first is not reached
        raise built.refusal.error()
    # an entry that is complete goes on nowhere, unless to raise
    for end in built.text.targets.values():
        shown = f": {watch.uncaught}" if watch.uncaught else ""
        raise ExportError(
            f"{names.function} raises an exception for this example ({_place_of(end)}){shown}\n"
            "A graph has no such end: export a call that returns."
        )
    check_names(built.text.guards, policy, function_text(names.function, names.code))
    module = OuterGraph(start, example, built, policy).build(relations, names.text)
    return Exported(
        module, tuple(names.texts(g.text() for g in built.text.guards)), example, built, start, names, policy
    )


def check_numbers(policy: ExportPolicy, fixed: Iterable[Specialized], function: str) -> None:
    """Raise DynamicSizeFixed for ints that were declared with `Dim.DYNAMIC`, and that the program fixed."""
    problems: list[str] = []
    for each in fixed:
        found = policy.find_int(each.source)
        if found is not None and policy.numbers.get(found.index):
            where = "" if each.user_frame is None else f"; it is fixed at {with_source(each.user_frame)}"
            problems.append(
                f"the int {each.source.text()} is declared as Dim.DYNAMIC, and the program works for {found.value} only{where}"
            )
    if problems:
        raise DynamicSizeFixed(function, problems, ("dynamic_shapes",))


def _place_of(target: ResumeTarget) -> str:
    """The line at which the program goes on."""
    layout = target.point.frames[-1]
    line = reading_of(layout.code).operations[layout.current].position.line
    return place_text(layout.code.co_filename, line or layout.code.co_firstlineno, layout.code.co_name)


def keep_graph(module: fx.GraphModule, examples: list[object]) -> Callable[..., object]:
    """The backend of `export`: the graph as it was recorded."""
    forget_kept(module.graph)
    return module.forward
