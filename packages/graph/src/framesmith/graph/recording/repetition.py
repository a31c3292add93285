"""Recording operations once more on other operands of the same metadata, and which ones may be (`Recorder.repeat`).

y = relu(x @ w0)        known: x -> y, w0 -> w1        z = relu(y @ w1)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, final

import torch
from torch import fx
from torch.fx.node import map_arg

from framesmith.graph.fakes.fake_copies import CopiedResults
from framesmith.graph.fakes.infer import CallKind
from framesmith.graph.fakes.new_fakes import NewFakes
from framesmith.graph.operations.data_errors import may_raise
from framesmith.graph.operations.purity import IMPURE
from framesmith.graph.recording.module_stacks import NO_MODULES, SOURCE, ModuleStack, move
from framesmith.graph.recording.result_patterns import ResultPattern
from framesmith.graph.running.failures import STEP, changes


@final
@dataclass(frozen=True, slots=True)
class Stacks:
    """The user's frames around the operations, as text, and the modules in whose calls they stand, the called one included: when they were
    recorded `first`, and `now`. `names_given`: see `VariableNames`, when the first call had ended."""

    first: str
    now: str
    first_modules: ModuleStack = field(default_factory=dict)
    now_modules: ModuleStack = field(default_factory=dict)
    names_given: int = 0


Stretch: TypeAlias = tuple[fx.Node, ...]


class RecordCall(Protocol):
    """Records one operation: `Recorder.call`."""

    def __call__(
        self,
        op: CallKind,
        target: Any,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        stack: str,
        modules: ModuleStack,
    ) -> fx.Node:
        """The node of the operation."""
        ...


CallAgain: TypeAlias = Callable[
    [fx.Node, tuple[object, ...], Mapping[str, object], str, ModuleStack, object], fx.Node
]
"""Records what a node does with other arguments, stacks and a known result; nothing is run."""


@final
class Repetition:
    """What was repeated: stretches of the graph with the same operations in the same order, by the first one.

    `copies` are the nodes with copied results, each with the first one: what can be told from an operation, its constants and the
    metadata of its operands is the same for both.
    """

    def __init__(self) -> None:
        self.copies: dict[fx.Node, fx.Node] = {}
        self._stretches: dict[Stretch, list[Stretch]] = {}
        self._patterns: dict[tuple[Stretch, Stretch], ResultPattern | None] = {}
        self._kept: list[CopiedResults] = []

    def groups(self) -> Iterator[tuple[Stretch, ...]]:
        """Each stretch that was repeated, followed by its repetitions."""
        return map(tuple, self._stretches.values())

    def copy_results(
        self,
        fakes: NewFakes | None,
        nodes: Sequence[fx.Node],
        known: Mapping[fx.Node, fx.Node],
        returned: Sequence[fx.Node],
    ) -> Mapping[fx.Node, object] | None:
        """Copies of what the operations gave, for other operands (`known`); None where they have to be computed. `returned` are those
        that the program goes on with."""
        if fakes is None:
            return None
        pattern = self._pattern(tuple(nodes), tuple(returned))
        return None if pattern is None else pattern.copy(fakes, known, self._kept)

    def record(
        self,
        call: RecordCall,
        call_again: CallAgain,
        nodes: Sequence[fx.Node],
        known: Mapping[fx.Node, fx.Node],
        results: Mapping[fx.Node, object] | None,
        stacks: Stacks,
    ) -> dict[fx.Node, fx.Node]:
        """Record the operations with other operands (`known`); returns the new node of each. `results`: see `copy_results`."""
        made = dict(known)
        first = tuple(nodes)
        # operations of one call have one stack
        moved = dict[int, ModuleStack]()

        # What both calls take from outside, and is the same for both, stays.
        def image(node: fx.Node) -> fx.Node:
            return made.get(node, node)

        for node in nodes:
            args, kwargs = map_arg((node.args, node.kwargs), image)
            stack = _stack(node, stacks)
            modules: ModuleStack = node.meta.get("nn_module_stack", NO_MODULES)
            if id(modules) not in moved:
                moved[id(modules)] = move(modules, stacks.first_modules, stacks.now_modules)
            modules = moved[id(modules)]
            if results is None:
                op: CallKind = "call_method" if node.op == "call_method" else "call_function"
                copy = call(op, node.target, args, kwargs, stack=stack, modules=modules)
                copy.meta = {**node.meta, **copy.meta, IMPURE: node.meta[IMPURE]}
                copy.meta[SOURCE] = [(copy.name, node.meta[SOURCE][0][1])]
            else:
                copy = call_again(node, args, kwargs, stack, modules, results[node])
                self.copies[copy] = node
            made[node] = copy
        self._stretches.setdefault(first, [first]).append(tuple(made[node] for node in first))
        return made

    def _pattern(self, nodes: Stretch, returned: Stretch) -> ResultPattern | None:
        """What is known of the first results, found out for the first repetition."""
        if (nodes, returned) not in self._patterns:
            self._patterns[nodes, returned] = ResultPattern.of(nodes, returned)
        return self._patterns[nodes, returned]


def _stack(node: fx.Node, stacks: Stacks) -> str:
    text: str = node.meta.get("stack_trace", "")
    if stacks.first == stacks.now:
        return text  # a loop
    return text.replace(stacks.first, stacks.now, 1) if text.startswith(stacks.first) else text


def is_operation(node: fx.Node) -> bool:
    """Whether a node was recorded for an operation of the program; inputs and the nodes that write out a size were not."""
    return STEP in node.meta


def can_repeat(nodes: Iterable[fx.Node]) -> bool:
    """Whether these operations can be recorded once more: not those with a graph of their own or an unknown size."""
    return all(map(_is_plain, nodes))


def may_fail_midway(nodes: Iterable[fx.Node], has_changes: bool) -> bool:
    """Whether one of these operations may raise on data when something was written or drawn before: the program would have
    to go on in their midst (ADR 0015)."""
    for node in nodes:
        has_changes = has_changes or changes(node)
        if has_changes and may_raise(node):
            return True
    return False


def _is_plain(node: fx.Node) -> bool:
    return (
        node.op in ("call_function", "call_method")
        and not isinstance(node.target, torch._ops.HigherOrderOperator)
        and "unbacked_bindings" not in node.meta
        and all(one.op != "get_attr" for one in node.all_input_nodes)
    )
