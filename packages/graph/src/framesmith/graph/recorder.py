"""The recording of one graph: the interface for the layers above.

`with Recorder(options) as recorder:` spans the trace. Fake mode is on inside: real tensors must not be used in
computations there, except in `with recorder.pause_recording():`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType, TracebackType
from typing import Any, Self, TypeAlias, final

import torch
import torch._guards
from torch import fx

from framesmith.graph import finish as finishing
from framesmith.graph.backends.data_stores import take_stores, with_data, with_stand_ins
from framesmith.graph.backends.dead_histories import detach_dead, restore_histories
from framesmith.graph.backends.inference_results import as_inference_tensors
from framesmith.graph.backends.sizes_of_views import add_sizes_of_views
from framesmith.graph.backends.stores_behind import StoresBehind
from framesmith.graph.backends.written_reads import find_touched_sources
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.breaks.errors import RecorderMisuse
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.environment.inference_blocks import open_blocks
from framesmith.graph.environment.silence import SILENCE
from framesmith.graph.environment.trace_numbers import TraceName, TraceNumbers
from framesmith.graph.fakes.execution import Execution, check_views, check_writes, execute
from framesmith.graph.fakes.fake_tensors import Snapshot, restore
from framesmith.graph.fakes.infer import COMPUTE, CallKind, operation_name
from framesmith.graph.fakes.metadata_changes import MetadataChanges, metadata_of
from framesmith.graph.finish import CompiledSubgraph
from framesmith.graph.inputs.input_names import CompiledFunction, placeholder_name
from framesmith.graph.inputs.inputs import (
    Inputs,
    check_wrappers,
    find_written_inputs,
    is_jagged,
    make_input,
    refuse_without_fake,
)
from framesmith.graph.inputs.storage_offsets import StorageOffsets
from framesmith.graph.inputs.verify_numbers import verify_numbers
from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE, Argument, prepare
from framesmith.graph.nodes.attributes import Attributes
from framesmith.graph.nodes.subgraph import BODY, Subgraph, Use
from framesmith.graph.operations.data_errors import FallibleWatch, fails_on_data
from framesmith.graph.operations.purity import IMPURE, may_mutate
from framesmith.graph.options import GraphOptions, is_fixed, is_symbolic
from framesmith.graph.python_numbers.float_decisions import check_floats
from framesmith.graph.recording.marker import Marker, tensors_of
from framesmith.graph.recording.module_stacks import SOURCE, ModuleStack
from framesmith.graph.recording.nesting import NestedRecording
from framesmith.graph.recording.repetition import Repetition, Stacks, is_operation
from framesmith.graph.recording.variable_names import VariableNames
from framesmith.graph.replacing_backends import Reliance
from framesmith.graph.running.failures import STEP, Failures, changes
from framesmith.graph.shapes.dynamic_dims import STATIC_DIMS, DynamicDims
from framesmith.graph.shapes.formulas import Numbers
from framesmith.graph.shapes.shape_env import Place, ShapeEnvAdapter
from framesmith.graph.shapes.shape_guards import OFFSET_READ, ShapeRelations, Specialized
from framesmith.graph.shapes.symbols import SymbolNodes, refuse_fixed
from framesmith.graph.shapes.tracing_span import TracingSpan
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources.base import Source

UserStack: TypeAlias = str
"""The user's frames as `traceback.format_list` would join them; goes into `stack_trace` of the node."""
Asking: TypeAlias = tuple[CodeType, Callable[[str], object]]  # of the frame that runs now; reads a local

_AS_ALWAYS = nullcontext()


@final
class Recorder:
    """Records torch work into an fx.Graph while running it on fakes.

    Invariant: every node has an `example_value`; a call that raises leaves no node and no changed fake behind.
    """

    def __init__(self, options: GraphOptions | None = None, name: TraceName | None = None) -> None:
        self.options = options or GraphOptions()
        self._named = torch._guards.compile_context(name or TraceNumbers().next())
        self._world = ShapeEnvAdapter(self.options)
        self._span = TracingSpan(self._world)
        # to be read only: the graph being recorded now, and the decisions on symbolic numbers; both are asked before each step
        self.body = self._root = Subgraph()
        self.decided: Sequence[object] = self._world.env.guards
        self._inputs, self._attributes = Inputs(), Attributes()
        self._paths = dict[int, tuple[Source, str]]()  # see `placeholder_name`
        self._symbols, self._offsets = SymbolNodes(self._world, self._symbol_input), StorageOffsets()
        self._takes_float = self.fixes_floats = self.has_floats = self.has_changes = False
        self.numbers = Numbers(self._world)
        self._reliance = Reliance(self.options.runs_as_captured, self.options.backend)
        self._unspecialized: list[tuple[Source, object]] = []
        self._undo: list[Snapshot] = []
        self._repetition = Repetition()
        self.metadata_changes, self._start = MetadataChanges.none(), Ambient.now()
        self.user_stack: Callable[[], UserStack] = str
        self.module_stack: Callable[[], ModuleStack] = dict
        self.asking: Callable[[], Asking] | None = None
        self.on_warning: Callable[[str], None] | None = None  # told of an operation that has warned
        # `number_reads`: how often the number in an input was read, as it is before the graph runs
        self.step = self._count = self.number_reads = 0
        self.keeps_numbers = False  # eager has numbers where the graph has tensors (`graph.numbers`)
        self.fallible: FallibleWatch | None = None
        self.writes, self.computed_inputs = Writes(self._inputs), self._inputs.computed
        self.variables = VariableNames(self.writes)
        # there are tensors of subclasses, which the trace asks by itself; inputs that wrap other tensors
        self.asks_no_subclass = self.has_wrappers = False
        self.compiled: Callable[[], CompiledFunction] = CompiledFunction
        self.module_class: Callable[[ModuleStack], type | None] = lambda modules: None

    # the span of the trace

    def __enter__(self) -> Self:
        self._start = Ambient.now()
        self._named.__enter__()
        self._span.resume()
        return self

    def __exit__(
        self, cls: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._span.pause()
        self._start.restore(forgets=True)  # copies of fakes
        self._named.__exit__(None, None, None)

    def pause_recording(self) -> AbstractContextManager[None]:
        """Fake mode off, for work on real values: reading guards, running a function of the user natively."""
        return self._span.pause_recording()

    def locate(self, place: Callable[[], Place | None]) -> None:
        """Set the function that gives the user's current line, which the reasons of shape guards name."""
        self._world.context.place = place

    # queries

    @property
    def runs_as_captured(self) -> bool:
        """Whether the captured operations themselves run: no backend, and no operator that is given them, traces them again."""
        return not self.body.use.is_traced_again and self._reliance.ask()

    @property
    def graph(self) -> fx.Graph:
        """The graph being recorded now (a nested one inside `subgraph`); not to be changed by hand."""
        return self.body.graph

    @property
    def operations(self) -> int:
        """How many nodes the graph being recorded has, without inputs: the same number means that nothing was recorded."""
        return self.body.operations

    @property
    def content_reads(self) -> int:
        """How often the trace read storage offsets, or the number in an input: the same number means that none was read."""
        return self._offsets.requests + self.number_reads

    def length(self) -> int | None:
        """How many nodes were recorded, inputs included; None while a nested graph is recorded."""
        return len(self.body.order) if self.body is self._root else None

    def stretch(self, start: int, end: int) -> tuple[fx.Node, ...] | None:
        """The operations that were recorded between two lengths, without inputs and arithmetic of sizes; None if one is gone."""
        nodes = self._root.order[start:end]
        return None if any(node._erased for node in nodes) else tuple(filter(is_operation, nodes))

    def input_at(self, source: Source) -> fx.Node | None:
        """The node of the input from a source, if there is one."""
        known = self._inputs.find(source)
        return None if known is None else known.node

    def offset_is_read(self, memory: torch.UntypedStorage) -> Sequence[Source]:
        """Note that the trace reads storage offsets in the memory of a fake: those of the inputs that came with it, given here, are guarded."""
        return self._offsets.read([memory], self._inputs)

    def find_unguarded_numbers(self, guards: GuardSet) -> list[str]:
        """For tests: what `verify_numbers` finds in the inputs and the guards of the finished entry."""
        return verify_numbers(self._inputs, guards)

    # inputs

    def tensor_input(
        self, source: Source, value: torch.Tensor, dynamic: DynamicDims | None = None
    ) -> fx.Node:
        """The node of an input tensor, made on the first request; `example_value` is its fake."""
        known = self._inputs.find(source)
        if known is not None:
            return known.node
        if type(value) not in PLAIN_TENSORS and getattr(value, "fake_mode", None) is self._world.mode:
            raise RecorderMisuse(f"{source.text()} is a fake tensor of this very recording, not an input")
        refuse_without_fake(value, source, self._reliance)
        if self.has_wrappers:
            with self.pause_recording(), torch._C.DisableTorchFunctionSubclass():
                check_wrappers(self._inputs, value, source.text(), self._reliance)
        fake = self._inputs.recall(source)
        if fake is None:
            blocks = self._start.inference
            fake = self._world.fake_input(source, value, dynamic or STATIC_DIMS, blocks, self.pause_recording)
        assert isinstance(fake, torch.Tensor)
        return self._add_input(source, value, fake)

    def number_input(self, source: Source, value: int | float, *, is_unspecialized: bool = False) -> fx.Node:
        """The node of a number that may differ from call to call; `example_value` is a SymInt or SymFloat.

        `is_unspecialized`: an operation for which torch would have to fix it is refused (ADR 0010).
        """
        known = self._inputs.find(source)
        if known is not None:
            return known.node
        if isinstance(value, float) and not self.runs_as_captured:
            raise GraphBreak(BACKEND_LIMIT, f"the float {source.text()} as a number that may change")
        symbol = self._inputs.recall(source)
        if symbol is None:
            symbol = self._world.symbolic(source, value)
            self._takes_float |= isinstance(value, float)
        if is_unspecialized:
            self._unspecialized.append((source, symbol))
        return self._add_input(source, value, symbol)

    def object_input(self, source: Source, value: object) -> fx.Node:
        """The node of a torch.Generator; its example is the object itself."""
        if not self.runs_as_captured:
            raise GraphBreak(BACKEND_LIMIT, f"the generator {source.text()} in a graph")
        known = self._inputs.find(source)
        return known.node if known is not None else self._add_input(source, value, value)

    def _add_input(self, source: Source, value: object, example: object) -> fx.Node:
        node = self._root.placeholder(placeholder_name(source, self.compiled(), self._paths), example)
        self._inputs.add(make_input(source, node, value, example))
        return node

    # operations

    def call(
        self,
        op: CallKind,
        target: Any,
        args: Sequence[Argument] = (),
        kwargs: Mapping[str, Argument] | None = None,
        *,
        stack: UserStack = "",
        modules: ModuleStack | None = None,
        result: object = COMPUTE,
    ) -> fx.Node:
        """Record an operation and run it on fakes; the node's `example_value` is the result.

        `target` is the callable, or the method's name with the object first in `args`. `stack`, `modules`: those of the moment, if none
        are given. With `result` given, nothing is run: it is the example (higher-order operators). An in-place operation returns the very
        fake it changed, as eager would. Raises GraphBreak (the graph cannot hold it) or FakeFailure (the user's mistake).
        """
        body = self.body
        before = len(body.order)
        decided = len(self.decided)
        keywords = kwargs or {}
        unspecialized = [pair for pair in self._unspecialized if not is_fixed(pair[1])]
        try:
            own, values, tensors = prepare(args, body.graph, body.local, self._symbolic)
            own_rest, rest, more = prepare(keywords.values(), body.graph, body.local, self._symbolic)
            own_kwargs = dict(zip(keywords, own_rest, strict=True))
            impure = may_mutate(op, target, own, own_kwargs)
            if self.writes.stored:
                given, may_write = (target, tuple(own), own_kwargs), impure or body is not self._root
                if used := with_stand_ins(self.writes, self.call, given, tensors + more, may_write=may_write):
                    return self.call(op, target, *used, stack=stack, modules=modules, result=result)
            if impure and self._inputs.inference:
                start = None if self.runs_as_captured else self._start
                check_writes(operation_name(op, target), tensors + more, self._inputs.inference, start)
            # what fails in a nested graph is the operation that runs it: that is recorded, and watched, afterwards
            watch = None if body is not self._root or not self.has_changes else self.fallible
            if watch is not None and fails_on_data(op, target):
                watch.before_recording()
            if result is COMPUTE:
                done = self._execute(
                    op, target, values, dict(zip(keywords, rest, strict=True)), tensors + more, impure
                )
                result, impure = done.result, done.impure
                if self._offsets.are_read_by(target):
                    self._offsets.read([one.untyped_storage() for one in tensors], self._inputs)
                refuse_fixed(unspecialized)
                if self._takes_float:
                    check_floats(operation_name(op, target), result, self._world.decisions(decided))
        except BaseException:
            self._world.drop_pending()
            self._erase(body, before)
            raise
        node = body.append(op, target, tuple(own), own_kwargs)
        # Recorded on demand, in a second trace elsewhere or not at all: arithmetic on numbers, a stand-in. It gets an odd number, see STEP.
        is_odd = not (tensors or more) and (is_symbolic(result) or isinstance(result, int | float))
        node.meta.update({EXAMPLE: result, IMPURE: impure})
        self.has_changes = self.has_changes or changes(node)
        self._complete(body, node, is_odd or target is with_data, stack, modules)
        if self._world.env.pending_fresh_unbacked_symbols:
            self._symbols.bind_invented(node, result)
        return node

    def _call_again(
        self,
        node: fx.Node,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        stack: UserStack,
        modules: ModuleStack,
        result: object,
    ) -> fx.Node:
        """Record what another node of this graph does on other operands, with a known result."""
        copy = self.body.append_copy(node, args, kwargs, result)
        self._complete(self.body, copy, node.meta[STEP][1] % 2 == 1, stack, modules)
        return copy

    def _complete(
        self, body: Subgraph, node: fx.Node, is_odd: bool, stack: UserStack, modules: ModuleStack | None
    ) -> None:
        """Give a new operation with its result the rest of its metadata, and note what it does beyond computing."""
        meta = node.meta
        meta[STEP] = self.step, 2 * self._count - is_odd
        self._count += not is_odd
        if meta[IMPURE]:
            self.writes.note(node)
        if self.has_changes and self.fallible is not None and body is self._root:
            self.fallible.after_recording(node)
        if stack := stack or self.user_stack():
            meta["stack_trace"] = stack
        if modules := self.module_stack() if modules is None else modules:
            meta["nn_module_stack"] = modules
        known = meta.get(SOURCE)  # of a copy
        made_by = known[0][1] if known else (modules and self.module_class(modules)) or node.target
        meta[SOURCE] = [(node.name, made_by)]

    def repeat(
        self,
        nodes: Sequence[fx.Node],
        known: Mapping[fx.Node, fx.Node],
        returned: Sequence[fx.Node],
        stacks: Stacks,
    ) -> dict[fx.Node, fx.Node]:
        """Record operations once more on other operands (see `repetition`): the new node of each. What an operation raises is
        what `call` raises; then all is as it was."""
        fakes = None if self._takes_float or self.writes.stored else self._world.fakes
        results = self._repetition.copy_results(fakes, nodes, known, returned)
        # With copied results nothing runs: no fake is changed, and no switch turned.
        length, before = len(self.body.order), self.marker() if results is None else None
        try:
            made = self._repetition.record(self.call, self._call_again, nodes, known, results, stacks)
        except BaseException:
            if before is not None:
                self.rollback(before)
            self._erase(self.body, length)
            raise
        self.variables.copy(nodes, made, stacks.names_given)
        return made

    def _execute(
        self,
        op: CallKind,
        target: Any,
        args: list[object],
        kwargs: dict[str, object],
        tensors: list[torch.Tensor],
        impure: bool,
    ) -> Execution:
        asks = not self.asks_no_subclass or any(map(is_jagged, tensors))
        asking = _AS_ALWAYS if asks else torch._C.DisableTorchFunctionSubclass()
        SILENCE.take_warned()  # what warned before belongs to an inference that raised, or to another trace
        with self._span.running(), self._world.dispatching(op, target), asking:
            reads = self._world.take_numbers_read if self.options.capture_scalar_outputs else None
            before = list(map(metadata_of, tensors)) if impure else None
            done = execute(op, target, args, kwargs, tensors, impure, reads)
            if done.impure:
                self.metadata_changes.note(tensors, before, self._inputs.memories)
        self._undo.extend(done.undo)
        if open_blocks() and not self.runs_as_captured:
            check_views(operation_name(op, target), done.result, tensors)
        if SILENCE.take_warned() and self.on_warning is not None:
            self.on_warning(operation_name(op, target))
        return done

    def _symbolic(self, value: object) -> object:
        return self._symbols.node_of(value, self.body)

    def symbolic(self, value: torch.SymInt | torch.SymFloat | torch.SymBool) -> fx.Node | int | float | bool:
        """The node of a symbolic number, such as a size of a fake; the plain number if it turned out to be fixed.

        `call` does this by itself for symbolic numbers among its arguments.
        """
        found = self._symbolic(value)
        assert isinstance(found, fx.Node | int | float)
        return found

    def _symbol_input(self, source: Source, example: object) -> fx.Node:
        known = self._inputs.find(source)
        return known.node if known is not None else self._add_input(source, None, example)

    def tensors(self) -> Iterator[torch.Tensor]:
        """The fakes of all tensors that the graph, or one around it, holds so far."""
        return tensors_of(self.body)

    # nested graphs

    @property
    def use(self) -> Use:
        """What becomes of the graph that is being recorded."""
        return self.body.use

    @contextmanager
    def subgraph(self, use: Use = BODY) -> Iterator[NestedRecording]:
        """Record into a nested graph; what it uses of the enclosing ones becomes an input of it."""
        parent = self.body
        self.body = body = Subgraph(parent, use)
        try:
            yield NestedRecording(body, parent, self._attributes, self._symbols)
        finally:
            self.body = parent

    # going back

    def marker(self) -> Marker:
        """The present moment of the recording, for `rollback`."""
        return Marker(self.body, len(self.body.order), len(self._undo), Ambient.now())

    def rollback(self, marker: Marker) -> bool:
        """Erase every node and input made since, undo in-place changes of fakes, turn torch's switches back.

        False if a fake could not be brought back (an in-place operation gave a gradient history to a view that
        had none): the trace is to be started again.
        """
        if marker.body is not self._root and marker.body.parent is None:
            raise RecorderMisuse("the marker belongs to another recorder")
        self.body = marker.body
        self._erase(marker.body, marker.length)
        undo = self._undo[marker.undo :]
        del self._undo[marker.undo :]
        with self._span.running():
            left = {id(tensor) for tensor in restore(reversed(undo))}
        marker.ambient.restore()
        return not left or left.isdisjoint(id(tensor) for tensor in tensors_of(self.body))

    def _erase(self, body: Subgraph, length: int) -> None:
        if len(body.order) > length:
            self._inputs.drop_nodes(set(body.erase_after(length)))

    def finish(self, outputs: Sequence[fx.Node], kept: Sequence[fx.Node] = ()) -> CompiledSubgraph:
        """Clean the graph, build the module, call the backend. This ends the recording. `kept` are values besides the
        outputs that must not be freed before the graph has run (see `failures`)."""
        if self.body is not self._root:
            raise RecorderMisuse("a nested graph is still being recorded")
        graph, copies = self._root.graph, self._repetition.copies
        stores, returned = take_stores(graph, self.writes, kept)
        positions = finishing.close(graph, outputs, self._start, returned, self._reliance, copies)
        if not finishing.has_operations(graph):
            return finishing.without_graph(outputs, self._inputs.by_node())
        dead = detach_dead(graph, self._reliance)  # differentiates fakes: fake mode has to be on
        with self.pause_recording():
            add_sizes_of_views(self._root, self._inputs, self._reliance)
            groups, root = list(self._repetition.groups()), self._attributes.root
            ask = finishing.reason_of(graph, self._inputs, self._start, self._reliance, copies)
            behind = StoresBehind(graph, stores, self._inputs.of(graph), self.writes, self._reliance, ask)
            module = finishing.build_module(graph, root, self._world, groups if self._reliance.holds else ())
            module.meta.update(behind.meta)
            used = self._inputs.of(module.graph)
            written, context = find_written_inputs(used, self._inputs.versions), self._world.for_backend()[1]
            rest = (copies, used, written, self._start, context, self._reliance, behind.why_captured)
            made = finishing.call_backend(self.options, module, groups, *rest)
        touched = find_touched_sources(module.graph, used, written, stores) if self.has_changes else written
        call = finishing.adapt_call(made, module, self.options, used, written, touched, self._inputs.versions)
        call = behind.behind(as_inference_tensors(call, module, self._start), module.graph, used)
        failures = Failures(module, self._start, self.options.runs_as_captured)
        return CompiledSubgraph(
            call=failures.watch(restore_histories(call, dead, used), self.options),
            inputs=tuple([entry.source for entry in used]),
            outputs=finishing.count_results(module.graph),
            failures=failures,
            positions=positions,
            graph_module=module,
            mutated=written,
            touched=touched,
        )

    def release(self) -> None:
        """Drop all references, to the caller's objects and to parts that refer back, at the end of the trace (ADR 0014)."""
        world = self._world
        vars(self).clear()
        world.release()

    def explain_shape_guards(self) -> list[Guard]:
        """What was decided about symbolic numbers, each with the user's line; to be called after `finish`."""
        with self.pause_recording():
            facts = ShapeRelations(self._world, self._inputs.ever).guards()
        return [*facts, *(Guard.relation(claim, OFFSET_READ) for claim in self._offsets.guards())]

    def specialized(self) -> list[Specialized]:
        """The numbers that were requested as symbolic and that the trace fixed."""
        with self.pause_recording():
            return ShapeRelations(self._world, self._inputs.ever).specialized()
