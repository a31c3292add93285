"""The lines of an entry that call its graph, and name what it gives."""

from framesmith.frontend.generated.functions import Line
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.recovery import Recovery
from framesmith.graph import CompiledSubgraph
from framesmith.graph.inputs.leaf_inputs import read_marks
from framesmith.graph.running.failures import GraphFailed
from framesmith.guards import GuardSet
from framesmith.guards.families import pack_inputs
from framesmith.guards.names import PREFIX
from framesmith.guards.sources import ValuesOf


def write_graph_call(
    writer: EntryWriter, graph: CompiledSubgraph, guards: GuardSet, recovery: Recovery | None
) -> list[Line]:
    """Call the graph and name its outputs. `guards`: whose families say which inputs can be read together."""
    if not (writer.outputs or graph.call is not None):
        return []
    names = list(writer.outputs.values())
    # without a call there are no operations: each output is one of the inputs
    if graph.call is None:
        inputs = [writer.load(source) for source in graph.inputs]
        return [
            (f"{name} = {inputs[position]}", writer.line)
            for name, position in zip(names, graph.positions, strict=True)
        ]
    given = [
        f"*{writer.load(source)}" if isinstance(source, ValuesOf) else writer.load(source)
        for source in pack_inputs(graph.inputs, guards.items)
    ]
    call = f"{writer.constant(graph.call, 'graph')}({', '.join(given)})"
    # two outputs may be one value: the first name takes it, the others are assigned from that
    first: dict[int, str] = {}
    for name, position in zip(names, graph.positions, strict=True):
        first.setdefault(position, name)
    results = [first.get(i, f"{PREFIX}r{i}") for i in range(graph.outputs)]
    # the comma makes it an unpacking also for a single result
    called = f"{', '.join(results)}, = {call}" if results else call
    lines = [(called, writer.line)]
    if recovery is not None:
        failed, own = writer.constant(GraphFailed, "failed"), writer.constant(recovery, "recovery")
        before = f", {PREFIX}m" if graph.marks_leaves else ""
        made = f", ({''.join(f'{writer.load(one)}, ' for one in recovery.made)})"
        handed = f"{made}{before}" if recovery.made or before else ""
        anything = writer.constant(BaseException, "anything")
        handler = f"except {anything} as {PREFIX}x: raise {failed}({own}, {PREFIX}x{handed}) from None"
        lines = [("try:", writer.line), (f"  {called}", writer.line), (handler, writer.line)]
        if before:
            read = f"{PREFIX}m = {writer.constant(read_marks, 'marks')}({', '.join(given)})"
            lines.insert(0, (read, writer.line))
    renamed = [
        (f"{name} = {results[position]}", writer.line)
        for name, position in zip(names, graph.positions, strict=True)
        if results[position] != name
    ]
    return [*lines, *renamed]
