"""A walk through the five layers for one small function: `python docs/tour.py`. Each step uses what the one before it made.

Read it beside its output. Nothing here is special to the tour: these are the calls that `frontend.compile` makes, one layer at a time.
"""

import operator

import torch

from framesmith import frontend
from framesmith.bytecode import meaning
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.disassemble import disassemble
from framesmith.frontend import where
from framesmith.frontend.api import session_of
from framesmith.graph import DynamicDims, GraphOptions, Recorder, example, text
from framesmith.guards import Guard, GuardSet, Reason, Scope, compile_guards, first_failure
from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import Local


def scaled(x: torch.Tensor, factor: int) -> torch.Tensor:
    """The function of the tour: one tensor, one number, a decision."""
    if factor > 1:
        x = x * factor
    return x + 1


def step(number: int, title: str) -> None:
    """A heading."""
    print(f"\n{number}. {title}\n{'-' * (len(title) + 3)}")


def bytecode() -> meaning.Reading:
    """Layer 1. Two readings: one that can be written back bit by bit, one that means the same on every Python."""
    step(1, "bytecode: what the function does")
    parts = disassemble(scaled.__code__)
    print(
        f"{len(parts.instructions)} instructions here, written back unchanged:",
        assemble(parts) == scaled.__code__,
    )
    reading = meaning.read(scaled.__code__)
    for index, operation in enumerate(reading.operations):
        target = "" if operation.target is None else f" -> {operation.target}"
        print(f"{index:3} {operation.kind.name:14} {operation.argument!r}{target}")
    return reading


def guards() -> GuardSet:
    """Layer 2. What was read has to hold again: as data, as one expression, and as an explanation."""
    step(2, "guards: what must hold for the next call")
    found = GuardSet()
    found.add(Guard(Local("factor"), EqualTo(2), Reason("the branch was chosen by it", "scaled, line 2")))
    print("one expression:", compile_guards(found, preload=[]).condition)
    failure = first_failure(found, Scope({"factor": 3}, {}))
    print("why it misses: ", failure and failure.text)
    return found


def graph() -> None:
    """Layer 3. Torch work is recorded as nodes while it runs on fakes; the end is plain data that can be called."""
    step(3, "graph: the torch work of one path")
    real = torch.ones(3)
    with Recorder(GraphOptions(backend="eager")) as recorder:
        x = recorder.tensor_input(Local("x"), real, DynamicDims.none())
        product = recorder.call("call_function", operator.mul, (x, 2), {}, stack=())
        total = recorder.call("call_function", operator.add, (product, 1), {}, stack=())
        print("the fake of the result:", example(total))
        print(text(recorder.graph))
        done = recorder.finish([total])
    print("called with the real input:", done.call(real))


def variables() -> None:
    """Layer 4. A tracker for every kind of value; what is called is a row in a table, beside the code that handles it."""
    step(4, "variables: who handles what is called")
    where.main(["list.append", "len", "torch.add"])


def whole() -> None:
    """Layer 5. The symbolic interpreter runs the operations on trackers, records, guards, and writes the dispatcher and the entry."""
    step(5, "frontend: all of it at once")
    compiled = frontend.compile(scaled, backend="eager")
    print(compiled(torch.ones(3), 2), compiled(torch.ones(3), 1))
    print(frontend.explain(compiled)())
    session = session_of(compiled)
    assert session is not None
    print("what was generated for the first entry, as Python source:")
    print(session.history.entries[0].source)


def main() -> None:
    """All five."""
    bytecode()
    guards()
    graph()
    variables()
    whole()


if __name__ == "__main__":
    main()
