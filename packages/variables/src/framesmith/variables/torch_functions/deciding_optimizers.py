"""Optimizers that decide in the middle of a step: `torch.optim.LBFGS`.

It calls the closure several times, and stops, or searches along a line, by what the loss and the gradients are. Traced, one step
would be some dozen fragments with a break at each decision.
"""

from typing import Final, NoReturn

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.breaks import BreakKind, register
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()
DECIDING_OPTIMIZER: Final = register(
    BreakKind(
        "deciding-optimizer",
        "the step of an optimizer that decides by the values of the loss",
        "Within one step torch.optim.LBFGS calls the closure as often as the loss and the gradients, which only the running program "
        "knows, ask for. The step runs natively, with its closure.",
        "Compile the function that computes the loss, and call step(closure) outside of compiled code; or use an optimizer that does "
        "not decide, such as AdamW.",
    )
)


@ROWS.entry(DIRECTIVES, ("torch.optim.lbfgs", "LBFGS.step"))
def step(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> NoReturn:
    """Break the graph: the step runs natively, as a whole."""
    raise GraphBreak(DECIDING_OPTIMIZER, "torch.optim.LBFGS.step")
