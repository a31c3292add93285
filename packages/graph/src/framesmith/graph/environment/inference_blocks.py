"""Blocks of inference mode inside a graph: the two operations, and going back to the blocks that were open at some moment.

`torch._C._InferenceMode(mode)` begins a block at once (its `__enter__` does nothing), and ends it in `__exit__` or when it dies; then it
puts back what it found. So the open ones are kept, for each thread, from the outermost to the innermost. Not here: which program enters one (`torch_contexts.inference`), and the mode that is on when a graph begins.

Before, for a backend that replaces the operations: `enter(True); y = x * 2; leave()`. After `replace_blocks`: the gradient mode is
switched in place of both, which computes the same; `inference_results` makes of the results what they have to be.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

_NOTHING: Final = nullcontext()
# Keys of torch's dispatcher that the modes of a trace switch; such a mode may end before the block in which it began.
_KEYS_OF_MODES: Final = ("Python", "PythonTLSSnapshot", "PythonDispatcher")


@final
@dataclass(frozen=True, slots=True, eq=False)
class InferenceBlock:
    """A block. `grad`: whether gradients were on in front of it, which leaving the block puts back."""

    mode: bool
    grad: bool
    guard: torch._C._InferenceMode

    @staticmethod
    def enter(mode: bool) -> "InferenceBlock":
        """Begin a block."""
        grad = torch.is_grad_enabled()
        return InferenceBlock(mode, grad, torch._C._InferenceMode(mode))

    def enter_again(self) -> "InferenceBlock":
        """Begin a block like this one, which was left."""
        # Before the block begins, which notes it and puts it back.
        torch._C._set_grad_enabled(self.grad)
        return InferenceBlock.enter(self.mode)

    def is_like(self, other: "InferenceBlock") -> bool:
        """Whether both switch the same way, and put back the same."""
        return self.mode == other.mode and self.grad == other.grad

    def leave(self) -> None:
        """Leave the block; modes that look at each operation stay as they are now."""
        keys = [(key, torch._C._dispatch_tls_is_dispatch_key_included(key)) for key in _KEYS_OF_MODES]
        self.guard.__exit__(None, None, None)
        for key, included in keys:
            if torch._C._dispatch_tls_is_dispatch_key_included(key) != included:
                torch._C._dispatch_tls_set_dispatch_key_included(key, included)


@final
class _Thread(threading.local):
    """The open blocks of one thread."""

    blocks: tuple[InferenceBlock, ...] = ()


_THREAD: Final = _Thread()


def enter_inference_mode(mode: bool) -> None:
    """Enter a block in which inference mode is on or off. An operation of graphs."""
    _THREAD.blocks = (*_THREAD.blocks, InferenceBlock.enter(mode))


def leave_inference_mode() -> None:
    """Leave the innermost block. An operation of graphs."""
    block = _THREAD.blocks[-1]
    _THREAD.blocks = _THREAD.blocks[:-1]
    block.leave()


def open_blocks() -> tuple[InferenceBlock, ...]:
    """The open blocks of this thread, from the outermost to the innermost."""
    return _THREAD.blocks


def restore_blocks(wanted: tuple[InferenceBlock, ...]) -> None:
    """Leave and enter blocks until such ones are open. The gradient mode is what they put back, and may have to be set then."""
    now = _THREAD.blocks
    if now is wanted:
        return
    common = 0
    while common < min(len(now), len(wanted)) and now[common].is_like(wanted[common]):
        common += 1
    for block in reversed(now[common:]):
        block.leave()
    _THREAD.blocks = (*now[:common], *[block.enter_again() for block in wanted[common:]])


def outside_blocks(wanted: tuple[InferenceBlock, ...]) -> AbstractContextManager[None]:
    """Only these blocks are open inside, and then as before."""
    return _NOTHING if _THREAD.blocks is wanted else _only(wanted)


@contextmanager
def _only(wanted: tuple[InferenceBlock, ...]) -> Iterator[None]:
    now = _THREAD.blocks
    grad = torch.is_grad_enabled()
    restore_blocks(wanted)
    try:
        yield
    finally:
        restore_blocks(now)
        torch._C._set_grad_enabled(grad)


BLOCK_SWITCHES: Final[frozenset[object]] = frozenset({enter_inference_mode, leave_inference_mode})


def is_block_switch(node: fx.Node) -> bool:
    """Whether the node enters or leaves a block."""
    return node.op == "call_function" and node.target in BLOCK_SWITCHES


def replace_blocks(graph: fx.Graph, grad: bool) -> None:
    """Switch the gradient mode in place of entering and leaving blocks; `grad` is the mode in which the graph begins."""
    before: list[bool] = []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is torch._C._set_grad_enabled:
            grad = bool(node.args[0])
        elif is_block_switch(node):
            if node.target is enter_inference_mode:
                before.append(grad)
                # As the block in C++ does.
                grad = not node.args[0]
            else:
                grad = before.pop()
            node.target, node.args = torch._C._set_grad_enabled, (grad,)
