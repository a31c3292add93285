"""The trackers that the battery of `variables` leaves out, each in a program during whose trace one is made."""

import itertools
import runpy
import threading
import warnings
from pathlib import Path

import numpy
import pytest
import torch
import torch.distributed as dist
from tests.end_to_end.support import check
from tests.end_to_end.wrapper_classes import Tagged
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from framesmith.variables import Tracker

X = torch.ones(3)
HERE = Path(__file__).parents[2]
LISTED = runpy.run_path(str(HERE / "packages/variables/tests/elsewhere.py"))["IN_PROGRAMS"]
MODE = torch._C._InferenceMode(False)
COUNT = 3


class Items:
    def __getitem__(self, index):
        return [4, 5][index]

    def __len__(self):
        return 2


class Grows(list):
    def __iadd__(self, other):
        return super().__iadd__(other)


def counted():
    yield 1
    yield 2


def deferred(x, n):
    for i in range(n):
        text = f"{i}"
        torch._dynamo.graph_break()
    return x, text


def unspecialized(x, names):
    found = []
    for name in names:
        torch._dynamo.graph_break()
        found.append(name)
    return x + 1, found


def unknown_range(x, n):
    total = x
    for i in range(n):
        torch._dynamo.graph_break()
        total = total + len(range(i))
    return total


def closure(x):
    y = x + 1

    def inner():
        return y

    return inner()


def handled(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        return x + len(error.args), error.__traceback__ is not None


def generated(x):
    made = counted()
    return x + made.send(None)


def marked(x):
    with torch.profiler.record_function("mark"):
        return x + 1


def marked_with_break(x):
    with torch.profiler.record_function("mark"):
        torch._dynamo.graph_break()
        return x + 1


def grown(x):
    items = Grows([1])
    items += [2]
    return x + len(items)


class Labelled(torch.Tensor):
    pass


def switched(x):
    with torch._C.DisableTorchFunctionSubclass():
        return x + 1


def in_mode(x):
    with torch.inference_mode():
        return x + 1


def break_in_mode(x):
    with torch.inference_mode():
        print("a break")
        return x + 1


def read_global(x):
    global COUNT
    COUNT = 4
    return x + COUNT


@torch.jit.script
def scripted(x):
    return x + 1


def warned(x):
    warnings.warn("said once", stacklevel=1)
    return x + 1


def hooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    return y


def unhooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3).remove()
    return y


def checkpointed(x):
    def policy(context, operator, *operands):
        return operator is torch.ops.aten.sin.default

    def contexts():
        return create_selective_checkpoint_contexts(policy)

    return checkpoint(lambda t: t.sin().sin(), x, use_reentrant=False, context_fn=contexts)


def increase(x, *rest):
    if rest and isinstance(rest[0], list) and isinstance(rest[0][0], float):
        rest[0][0] += 1


GROUP = dist.ProcessGroup(0, 2)
PLACEMENT = Shard(0)
MESHES: list[DeviceMesh] = []


@pytest.fixture(scope="module", autouse=True)
def alone():
    """This process alone in a group."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    MESHES.append(init_device_mesh("cpu", (1,)))
    yield
    MESHES.clear()
    dist.destroy_process_group()


def waited(x):
    y = x * 2
    work = dist.all_reduce(y, async_op=True)
    work.wait()
    return y


def laid_out(x):
    return x + 1, DTensor.from_local(x, MESHES[0], [PLACEMENT]).placements == (PLACEMENT,)


PROGRAMS = {
    "PlacementQuestion": (lambda x: x * PLACEMENT.is_shard(), X),
    "SpecTracker": (laid_out, X),
    "NewDisabled": (lambda x: torch.compiler.disable(waited)(x) + 1, X),
    "FixedMethod": (lambda x: x * GROUP.size(), X),
    "WorkTracker": (waited, X),
    "WaitMethod": (waited, X),
    "TensorTracker": (lambda x: x + 1, X),
    "TensorMethod": (lambda x: x.sum(), X),
    "SymbolicNumber": (lambda x: x * x.shape[0], X),
    "ComputedNumber": (lambda x, n: x * (n[0] * 2.0), X, [1.5]),
    "ChangingScalar": (lambda x, n: x * n[0], X, [numpy.float64(1.5)]),
    "ScalarConversion": (lambda x, n: x * n[0].item(), X, [numpy.float64(1.5)]),
    "ScalarMethod": (lambda x, n: x * n[0].astype(float), X, [numpy.float64(1.5)]),
    "SubclassTensor": (lambda x: (x.as_subclass(Labelled) + x).as_subclass(torch.Tensor), X),
    "NewWrapper": (lambda x: Tagged(x, "tag").elem + x, X),
    "ArrayTracker": (lambda x, a: x + a.shape[0], X, numpy.ones(2)),
    "ArrayMethod": (lambda x, a: x + float(a.sum().item() > 0), X, numpy.ones(2)),
    "Conversion": (lambda x: x * x.shape[0].__int__(), X),
    "ComputedConversion": (lambda x, n: x * n[0].__float__(), X, [1.5]),
    "UnknownRange": (unknown_range, X, 9),
    "DeferredText": (deferred, X, 9),
    "UnspecializedValue": (unspecialized, X, list("abcdefghij")),
    "TorchGeneratorTracker": (lambda x, g: x + torch.rand(3, generator=g), X, torch.Generator()),
    "CellTracker": (closure, X),
    "NestedFunction": (closure, X),
    "GeneratorTracker": (generated, X),
    "GeneratorMethod": (generated, X),
    "NamespaceTracker": (read_global, X),
    "TracebackTracker": (handled, X),
    "SavedException": (handled, X),
    "GroupIterator": (lambda x: [x + sum(group) for _, group in itertools.groupby([1, 1, 2])], X),
    "TeeSource": (lambda x: [x + n for n in itertools.tee([1, 2])[0]], X),
    "IdentityNumber": (lambda x: (x + 1, id(x) == id(x)), X),
    "DataPointer": (lambda x: (x + 1, x.data_ptr() == x.view(-1).data_ptr()), X),
    "ThreadNumber": (lambda x: (x + 1, threading.get_ident()), X),
    "SubscriptReversed": (lambda x, items: [x + n for n in reversed(items)], X, Items()),
    "InplaceMethod": (grown, X),
    "InferenceMode": (in_mode, X),
    "BlockMethod": (in_mode, X),
    "NativeContext": (break_in_mode, X),
    "NativeContextMethod": (break_in_mode, X),
    "ProfilerMark": (marked, X),
    "EndOfMark": (marked_with_break, X),
    "Switch": (switched, X),
    "PullbackTracker": (lambda x: torch.func.vjp(torch.sin, x)[1](x), X),
    "SwitchedOff": (switched, X),
    "OpenBlock": (switched, X),
    "ScriptFunctionTracker": (lambda x: scripted(x) * 2, X),
    "DeferredCall": (warned, X),
    "HookSlotTracker": (hooked, X.clone().requires_grad_()),
    "HookHandle": (hooked, X.clone().requires_grad_()),
    "RemoveMethod": (unhooked, X.clone().requires_grad_()),
    "SelectiveContexts": (checkpointed, X.clone().requires_grad_()),
    "PolicyContext": (checkpointed, X.clone().requires_grad_()),
    "PolicyOperand": (checkpointed, X.clone().requires_grad_()),
}


def test_every_class_without_a_case_has_a_program() -> None:
    assert set(PROGRAMS) == set(LISTED)


def tracker_class(name, root=Tracker):
    for kind in root.__subclasses__():
        if (found := kind if kind.__name__ == name else tracker_class(name, kind)) is not None:
            return found
    return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_made_while_the_program_is_traced(name, monkeypatch) -> None:
    made = []
    kind = tracker_class(name)
    begin = kind.__init__

    def noted(self, *args, **kwargs):
        made.append(self)
        begin(self, *args, **kwargs)

    monkeypatch.setattr(kind, "__init__", noted)
    function, *args = PROGRAMS[name]
    check(function, *args, calls=4, change=increase, options={"dynamic": True})
    assert made
