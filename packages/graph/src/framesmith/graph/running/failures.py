"""A graph that raised: which operation did, which values are still there, and a replay of the operations before it (ADR 0015).

An operation may fail on data that the trace did not see. Then the Python effects of the program before it must have happened, and
those after it must not, and the program's own handlers must see it. So the frontend traces the part before that operation once more,
and that part takes its tensors from the run that failed: nothing is written twice, no random number is drawn twice.

    def forward(self, x):           f_locals of the frame in the traceback:
        a = x + 1                   a is there
        b = x.add_(1)               b is there (None: freed after its last use)
        c = torch.linalg.inv(x)     c is missing: this one raised

A freed value is computed again from what is left, unless something was written since; `Recorder.finish` keeps such values to the end.
A backend that does not run our module leaves no such frame: the captured operations are run again on copies of the inputs.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, final

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.autograd.graph import saved_tensors_hooks

from framesmith.graph.breaks.interruptions import is_interruption
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.inputs.leaf_inputs import Marks
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.data_errors import may_have_effects, operator_name
from framesmith.graph.operations.purity import IMPURE, is_collective, is_random, is_switch
from framesmith.graph.options import GraphOptions
from framesmith.graph.running.captured_module import run_form_of
from framesmith.graph.running.draws import Draws

STEP: Final = "framesmith_step"
"""In `meta` of a node: (the step of the trace at which it was recorded, its number among the recorded operations). The
numbers of operations are even; an odd one belongs to arithmetic on numbers, which another trace may record elsewhere, or to what stands
for a tensor that gets other data (`data_stores`), which one for a backend that runs the captured operations does not record."""

Known = Mapping[int, object]
_STAND_INS: Final = (FakeTensor, FunctionalTensor)


@final
class GraphFailed(Exception):
    """What an entry raises instead of the exception of its graph (`error`), for the dispatcher to catch.

    `recovery` is the entry's own object for going on from there, `made` what the entry had made for the call, `before` which
    inputs required gradients before the graph, where it changes that.
    """

    def __init__(
        self,
        recovery: object,
        error: BaseException,
        made: tuple[object, ...] = (),
        before: Marks | None = None,
    ) -> None:
        super().__init__()
        self.recovery = recovery
        self.error = error
        self.made = made
        self.before = before


@final
class Unrecoverable(Exception):
    """A value that the operations before the failed one need was freed and cannot be computed again."""


@final
@dataclass(frozen=True, slots=True)
class FailedOperation:
    """The operation that raised: the step of the trace that recorded it, and its number (see `STEP`).

    `known` are the values by number; None if the backend ran something else than the captured operations.
    `began`: the operation may have written something or drawn random numbers by then, or code of the program raised in its
    midst, so it must not run again. It is false where the backend ran something else: that writes to inputs only at its end.
    """

    step: int
    number: int
    known: Known | None
    began: bool
    blocks: int
    """The autocast blocks that the graph has left open, negative if it has left some of those that were open; those of the caller differ
    from call to call."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Failures:
    """What an entry keeps in case its graph raises. `start`: the state of torch's switches when the graph begins; `may_be_copied`: the
    backend runs the captured operations, perhaps by a copy of the module."""

    module: fx.GraphModule
    start: Ambient
    may_be_copied: bool = False
    draws: Draws = field(default_factory=Draws)

    def watch(
        self, call: Callable[..., tuple[object, ...]], options: GraphOptions
    ) -> Callable[..., tuple[object, ...]]:
        """The call of the graph, which keeps what `find` cannot know afterwards where the backend runs something else."""
        return call if options.runs_as_captured else self.draws.watch(call, self.module)

    def find(self, error: BaseException, inputs: Callable[[], Sequence[object]]) -> FailedOperation | None:
        """The operation at which the graph raised; None if the captured operations do not raise.

        `inputs` is called if the backend compiled the module to something else, or has called it with stand-ins. The error's traceback is cut down to the
        frames that the operation called.
        """
        own = self._own(error)
        if own is not None:
            form = run_form_of(self.module)
            if form is not None and own.tb_frame.f_code is form.forward.__code__:
                within, found = form.locate(own)
            else:
                within, found = own.tb_next, own.tb_frame.f_locals
            known = _values(self._nodes(), found)
            # A backend that traces when it first runs has called it with stand-ins, which the program must not get.
            if not _has_stand_ins(known.values()) or _has_stand_ins(inputs()):
                error.__traceback__ = within
                return self._failure(set(found), known, error)
        if not isinstance(error, Exception):
            return None  # no operation raises it when it runs again
        # A copy wrote and drew as it went, other than what is compiled, which writes at its end: nothing may run a second time.
        if self.may_be_copied and any(map(changes, self._nodes())):
            return None
        done = self._try_out(inputs())
        return None if done is None else self._failure(done, None, error)

    def agree_with(self, module: fx.GraphModule) -> bool:
        """Whether another trace recorded the same operations under the same numbers, as far as both graphs have them."""
        recorded = _recorded(self.module)
        other = _recorded(module)
        return all(recorded[number] == other[number] for number in recorded.keys() & other.keys())

    def writes_between(self, step: int, number: int) -> bool:
        """Whether an operation of this step or a later one, before the one with this number, did more than compute."""
        return any(
            place[0] >= step and place[1] < number and changes(node)
            for node in self._nodes()
            if (place := node.meta.get(STEP)) is not None
        )

    def _nodes(self) -> list[fx.Node]:
        return [node for node in self.module.graph.nodes if node.op not in ("placeholder", "output")]

    def _own(self, error: BaseException) -> TracebackType | None:
        form = run_form_of(self.module)
        # `recompile` exchanges the function of the class; the short form may be the one that ran.
        codes = {type(self.module).forward.__code__, *(() if form is None else (form.forward.__code__,))}
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code in codes:
                return traceback
            traceback = traceback.tb_next
        return None

    def _failure(self, done: set[str], known: Known | None, error: BaseException) -> FailedOperation | None:
        """The first operation without a value (`done` are the names of those that have one); None if all have one.

        Assertions about numbers that only the running graph knows have no step: the program goes on after the operation
        before them, or in front of that if its step recorded more: `torch.zeros(n)` reads the number and uses it.
        """
        last = (0, -1)
        nodes = self._nodes()
        for index, node in enumerate(nodes):
            place = node.meta.get(STEP)
            if node.name not in done:
                goes_on = any(other.meta.get(STEP, (-1, 0))[0] == last[0] for other in nodes[index:])
                step, number = (last[0] + (not goes_on), last[1] + 1) if place is None else place
                began = place is not None and (_may_have_written(node) or is_interruption(error, node))
                blocks = 0 if known is None else sum(map(_blocks_entered, nodes[:index]))
                return FailedOperation(step, number, known, known is not None and began, blocks)
            last = last if place is None else place
        return None

    def _try_out(self, inputs: Sequence[object]) -> set[str] | None:
        """Run the captured operations on copies of the inputs; the names of those before the one that raises, None if none does."""
        copies = [
            # Leaves that require what the inputs do, since operations may ask; the program's history is not used.
            value.detach().clone().requires_grad_(value.requires_grad)
            if isinstance(value, torch.Tensor)
            else value
            for value in inputs
        ]
        before = Ambient.now()
        # Values stay in `env`, by which the operation that raised is found.
        interpreter = fx.Interpreter(self.module, garbage_collect_values=False)
        # fx would write the node into the message of the exception.
        interpreter.extra_traceback = False
        try:
            # This run draws what the one that failed has drawn, and must not move the program's generator on the CPU.
            # Nor are hooks of the program asked once more to pack what is saved for a backward pass.
            with torch.random.fork_rng(devices=[]), saved_tensors_hooks(_same, _same):
                self.draws.take_back()
                interpreter.run(*copies)
        except Exception:
            return {node.name for node in interpreter.env}
        finally:
            before.restore()
        return None


def _recorded(module: fx.GraphModule) -> dict[int, tuple[int, str]]:
    """Step and name of each operation by its number, without arithmetic on numbers."""
    return {
        place[1]: (
            place[0],
            operator_name(node.op, node.target),
        )  # by name: some functions are made by each trace
        for node in module.graph.nodes
        if (place := node.meta.get(STEP)) is not None and place[1] % 2 == 0
    }


def _blocks_entered(node: fx.Node) -> int:
    if node.target is torch.autocast_increment_nesting:
        return 1
    return -1 if node.target is torch.autocast_decrement_nesting else 0


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _values(nodes: Sequence[fx.Node], found: Mapping[str, object]) -> Known:
    """The values of operations that are still there, by number; arithmetic on numbers (odd) is left out."""
    return {
        number: found[node.name]
        for node in nodes
        # None: fx's text frees a value by this store.
        if found.get(node.name) is not None and (number := node.meta.get(STEP, (0, -1))[1]) % 2 == 0
    }


def _has_stand_ins(values: Iterable[object]) -> bool:
    return any(type(value) in _STAND_INS for value in values)


def _may_have_written(node: fx.Node) -> bool:
    """Whether an operation that raised may have had an effect by then, so that it cannot be run again."""
    return changes(node) or may_have_effects(node.op, node.target)


def changes(node: fx.Node) -> bool:
    """Whether the program could observe that an operation ran twice: it writes, draws random numbers or is a collective."""
    return bool(node.meta.get(IMPURE) and not is_switch(node)) or is_random(node) or is_collective(node)


@final
@dataclass(slots=True)
class Replay:
    """A backend for the part before the operation that raised: it returns the values of the run that failed.

    `asks`: the entry calls `raise_given` before the operation, to raise its exception instead of running it again:
    `scatter_add_` has added the items before an index that is out of range, and a second run would add them twice.
    """

    given: threading.local = field(default_factory=threading.local)
    asks: bool = False
    module: fx.GraphModule | None = None

    def __call__(self, module: fx.GraphModule, examples: Sequence[object]) -> Callable[..., object]:
        """The `Backend` protocol: a callable that replays the values given for this call, or runs the module if none are."""
        self.module = module

        def run(*inputs: object) -> object:
            # Once: the next call of the entry in this thread is not one of a failed graph.
            known: Known | None = self.given.__dict__.pop("known", None)
            if known is None:
                return module.forward(*inputs)
            # Its operation does not run again: neither do hooks that saw what is saved for a backward pass.
            is_given = self.given.__dict__.get("error") is not None
            with saved_tensors_hooks(_same, _same) if is_given else nullcontext():
                return replay(module, inputs, known, keep=is_given)

        return run

    def give(self, failures: Failures, known: Known | None, error: BaseException | None) -> None:
        """Set the values for the next call in this thread, and the exception for `raise_given`.

        Raises Unrecoverable where the module has recorded other operations than the one of `failures`, or needs a value that
        was freed and cannot be computed again.
        """
        module = self.module
        if module is not None and known is not None:
            if not failures.agree_with(module):
                raise Unrecoverable("the second trace recorded other operations than the first")
            _plan(module, known, keep=error is not None)
        self.given.__dict__.update(known=known, error=error)

    def raise_given(self) -> None:
        """Raise the exception that was given, once; without one do nothing."""
        error: BaseException | None = self.given.__dict__.pop("error", None)
        try:
            if error is not None:
                raise error
        finally:
            del error  # the traceback of the exception refers to this frame: a ring


def replay(module: fx.GraphModule, inputs: Sequence[object], known: Known, *, keep: bool = False) -> object:
    """The outputs of the module: known values, and what is computed from them again. `keep`: not again what is known."""
    given, anew = _plan(module, known, keep=keep)
    interpreter = fx.Interpreter(module, garbage_collect_values=False)
    interpreter.extra_traceback = False
    interpreter.env.update(zip(module.graph.find_nodes(op="placeholder"), inputs, strict=True))
    interpreter.env.update(given)
    for node in module.graph.nodes:
        if node.op == "output":
            return interpreter.run_node(node)
        # Switches run again, so that what is computed anew is computed under the same ones.
        if node in anew or is_switch(node):
            interpreter.env[node] = interpreter.run_node(node)
    raise AssertionError("a graph without an output")


def _plan(
    module: fx.GraphModule, known: Known, *, keep: bool
) -> tuple[Mapping[fx.Node, object], Set[fx.Node]]:
    """The nodes whose values are taken, with these, and those that are computed again.

    Raises Unrecoverable if a needed value was freed and something was written since it was made.
    """
    nodes = list(module.graph.nodes)
    if not keep and not any(map(_may_have_written, nodes)):
        known = {}  # compute all again: a recomputed value and a known one would not share memory as view and base did
    given = {
        node: _as_recorded(node, known[place[1]])
        for node in nodes
        if (place := node.meta.get(STEP, (0, -1)))[1] in known
    }
    inputs = {node for node in nodes if node.op == "placeholder"}
    numbers = {node for node, value in given.items() if isinstance(value, int | float)}
    numbers |= {node for node in inputs if not isinstance(node.meta.get(EXAMPLE), torch.Tensor)}
    return given, _to_compute(nodes, given.keys() | inputs, numbers)


def _as_recorded(node: fx.Node, value: object) -> object:
    """The value of a node in another graph: a number that was a tensor while tracing becomes one (`plain_numbers`)."""
    is_plain = type(value) is float and isinstance(node.meta.get(EXAMPLE), torch.Tensor)
    return torch.tensor(value, dtype=torch.float64) if is_plain else value


def _to_compute(nodes: Sequence[fx.Node], values: Set[fx.Node], numbers: set[fx.Node]) -> set[fx.Node]:
    """The nodes without a value that are needed; `numbers` are values that no write changes.

    Raises Unrecoverable if an operation wrote something since the first of them, or one of them draws random numbers.
    Arithmetic on numbers (`n + 1`) may be done again at any time: no write to a tensor changes it.
    """
    anew: set[fx.Node] = set()
    todo = list(nodes[-1].all_input_nodes)
    while todo:
        node = todo.pop()
        if node in values or node in anew:
            continue
        anew.add(node)
        todo += node.all_input_nodes
    begun = False
    for node in nodes:
        is_arithmetic = node.meta.get(STEP, (0, 0))[1] % 2 == 1
        if node in anew and is_arithmetic and numbers.issuperset(node.all_input_nodes):
            numbers.add(node)
            continue
        # A constant of the graph is not computed, only read.
        begun = begun or (node in anew and node.op != "get_attr")
        if begun and changes(node) and (node in anew or not is_random(node)):
            raise Unrecoverable(f"{node.name} wrote after a value that is lost was made")
    return anew
