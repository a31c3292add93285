"""The option `context_fn` of checkpoints: its policy is asked while tracing, once for each operator of the nested graph.

So what the policy reads is guarded, and what it changes is seen. It gets no tensors: a policy that looks at the operands or
the result of an operator breaks the graph.
"""

from collections.abc import Iterator
from typing import final

from torch._ops import HigherOrderOperator, OpOverload
from torch.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

from framesmith.graph import BreakKind, GraphBreak
from framesmith.graph.operations.selective_checkpoint import Decision, Question
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.rows import Rows
from framesmith.variables.torch_functions.function_rows import OperatorTracker

ROWS = Rows()


@final
class SelectiveContexts(Tracker):
    """What `create_selective_checkpoint_contexts` gives: two modes, of which only a checkpoint makes something."""

    source = None

    def __init__(self, policy: Tracker, allows_mutation: Tracker) -> None:
        self.policy = policy
        self.allows_mutation = allows_mutation

    @property
    def python_type(self) -> type:
        """`tuple`."""
        return tuple

    def children(self) -> Iterator[Tracker]:
        """The policy and the option."""
        return iter((self.policy, self.allows_mutation))

    def reconstruct(self, writer: Writer) -> str:
        """A call of the function."""
        made = writer.constant(create_selective_checkpoint_contexts, "selective_contexts")
        call = f"{made}({writer.value(self.policy)}, {writer.value(self.allows_mutation)})"
        return writer.define(self, call, "contexts")


@final
class PolicyContext(Tracker):
    """The first argument of a policy."""

    source = None

    @property
    def python_type(self) -> type:
        """`SelectiveCheckpointContext`."""
        return SelectiveCheckpointContext

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`is_recompute` is False, as torch asks in the first run only; the rest breaks the graph."""
        if name == "is_recompute":
            return Constant(False)
        return self.unsupported(f"reading attribute {name!r}")


@final
class PolicyOperand(Tracker):
    """The operands of the operator that a policy is asked about: what is done with them breaks the graph."""

    source = None

    @property
    def python_type(self) -> type:
        """Breaks the graph: it may be a tensor, a number or a list."""
        return self.unsupported("asking for its type")

    def describe(self) -> str:
        """For messages."""
        return "an operand of a checkpointed operator"


@ROWS.call(create_selective_checkpoint_contexts)
def selective_contexts(
    tx: TraceContext, policy_fn_or_list: Tracker, allow_cache_entry_mutation: Tracker | None = None
) -> Tracker:
    """`create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False)`."""
    return SelectiveContexts(policy_fn_or_list, allow_cache_entry_mutation or Constant(False))


@final
class SelectivePolicy:
    """The policy of one checkpoint. `kind`: of its graph breaks."""

    def __init__(self, tx: TraceContext, context_fn: Tracker, kind: BreakKind) -> None:
        self._tx = tx
        self._kind = kind
        self._given = context_fn

    def decide(self, questions: list[Question]) -> tuple[tuple[Decision, ...], bool]:
        """What the policy says of each operator, and whether what is kept may be changed."""
        tx, kind = self._tx, self._kind
        outside = reachable([self._given, *tx.changes.changed_trackers()])
        with tx.changes.watch_changes() as noted:
            try:
                made = run_pending(tx, self._given.realize().begin_call(tx, (), {})).realize()
                if not isinstance(made, SelectiveContexts):
                    raise GraphBreak(kind, f"context_fn gives {with_article(made.describe())}")
                decisions = tuple((one[0], self._ask(made.policy, one)) for one in questions)
            except ObservedException:
                raise GraphBreak(kind, "its context_fn or policy raises an exception") from None
        if any(one.source is not None or id(one) in outside for one in noted):
            raise GraphBreak(kind, "its policy has side effects")
        allows = made.allows_mutation.realize()
        if not isinstance(allows, Constant) or type(allows.value) is not bool:
            raise GraphBreak(kind, f"allow_cache_entry_mutation is {allows.describe()}")
        return decisions, allows.value

    def _ask(self, given: Tracker, question: Question) -> CheckpointPolicy:
        operator, count, names = question
        policy = given.realize()
        asked = OperatorTracker(operator, None)
        if isinstance(policy, ListTracker) and policy.python_type is list:
            return _as_policy(self._is_listed(policy, asked))
        operands = [PolicyOperand() for _ in range(count)]
        named = {name: PolicyOperand() for name in names}
        pending = policy.begin_call(self._tx, (PolicyContext(), asked, *operands), named)
        answer = run_pending(self._tx, pending).realize()
        found = answer.as_python_constant() if answer.is_python_constant() else None
        if isinstance(found, bool):
            return _as_policy(found)
        if isinstance(found, CheckpointPolicy):
            return found
        raise GraphBreak(self._kind, f"its policy gives {with_article(answer.describe())}")

    def _is_listed(self, policy: ListTracker, asked: OperatorTracker) -> bool:
        items = [item.realize() for item in policy.items]
        for item in items:
            # torch refuses others
            if not isinstance(item, OperatorTracker) or not isinstance(
                item.value, OpOverload | HigherOrderOperator
            ):
                raise GraphBreak(self._kind, f"its list of operators has {with_article(item.describe())}")
        return any(item.is_same(self._tx, asked) for item in items)


def _as_policy(is_kept: bool) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE
