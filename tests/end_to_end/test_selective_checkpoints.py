"""Checkpoints with a `context_fn`: which results are kept is decided as in eager, and what the policy reads is guarded."""

import pytest
import torch
from tests.end_to_end.support import check_source
from torch.utils._python_dispatch import TorchDispatchMode

from framesmith import frontend

PROGRAMS = """
import functools, torch
from collections import defaultdict
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten
KEPT = [aten.mm.default, aten.addmm.default]
KEPT_SET = {aten.mm.default, aten.addmm.default}
ASKED = []

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3), torch.nn.Sigmoid())
dropping = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 3))

def keep(is_kept):
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

def run(policy, x, function=model):
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    return checkpoint(function, x * 2, use_reentrant=False, context_fn=contexts)

def listed(x):
    return run(KEPT, x), run([], x)

def in_a_set(x):
    return run(lambda context, operator, *args, **kwargs: keep(operator in KEPT_SET), x)

def with_truth(x):
    return run(lambda context, operator, *args, **kwargs: not context.is_recompute and operator in KEPT, x)

def compared(x):
    def policy(context, operator, *args, **kwargs):
        if operator == aten.addmm.default or operator is aten.tanh.default:
            return CheckpointPolicy.PREFER_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE
    return run(policy, x)

def every_second(x):
    def make_policy(meta):
        def policy(context, operator, *args, **kwargs):
            mode = "recompute" if context.is_recompute else "forward"
            if operator == aten.addmm.default:
                meta[mode] += 1
            return keep(operator in KEPT_SET and meta[mode] % 2 == 0)
        return policy

    def contexts():
        meta = defaultdict(int)
        return create_selective_checkpoint_contexts(make_policy(meta), allow_cache_entry_mutation=True)

    return checkpoint(model, x, use_reentrant=False, context_fn=contexts)

def in_a_step(x):
    model.zero_grad()
    run(KEPT, x).sum().backward()
    return [p.grad.clone() for p in model.parameters()], x.grad

def random(x):
    return run(KEPT, x, dropping), torch.rand(2)

def without_gradients(x):
    with torch.no_grad():
        return run(KEPT, x)

def noting(x):
    def policy(context, operator, *args, **kwargs):
        ASKED.append(str(operator))
        return keep(True)
    return run(policy, x), list(ASKED)

def looking(x):
    return run(lambda context, operator, first, *rest, **kwargs: keep(first.dim() == 2), x)

def typed(x):
    return run(lambda context, operator, first, *rest, **kwargs: keep(isinstance(first, torch.Tensor)), x)

def with_results(x):
    return run(lambda context, operator, *args, **kwargs: keep(context.op_output.dim() == 2), x)

def failing(x):
    def policy(context, operator, *args, **kwargs):
        raise ValueError("no policy")
    try:
        return run(policy, x)
    except ValueError as error:
        return str(error)

def wrong_list(x):
    try:
        return run([aten.mm], x)
    except ValueError as error:
        return str(error)

def wrong_answer(x):
    return run(lambda context, operator, *args, **kwargs: 3, x)

def kept_contexts(x):
    return [type(one).__name__ for one in create_selective_checkpoint_contexts(KEPT)], x + 1

def args():
    return (torch.ones(4, 3, requires_grad=True),)
"""
CAPTURED = ["listed", "in_a_set", "with_truth", "compared", "every_second", "in_a_step", "without_gradients"]


@pytest.mark.parametrize("name", [*CAPTURED, "random"])
def test_selective_checkpoints_are_captured(name):
    check_source(PROGRAMS + f"f = {name}\n", breaks=0)


@pytest.mark.parametrize("name", CAPTURED)
def test_selective_checkpoints_for_aot_autograd(name):
    check_source(PROGRAMS + f"f = {name}\n", breaks=0, backend="aot_eager", tolerance=1e-6)


@pytest.mark.parametrize(
    "name",
    ["noting", "looking", "typed", "with_results", "failing", "wrong_list", "wrong_answer", "kept_contexts"],
)
def test_other_policies_run_as_they_are(name):
    check_source(PROGRAMS + f"f = {name}\n")


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.ran = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ran.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["listed", "in_a_set", "compared", "every_second", "random"])
def test_the_backward_pass_computes_again_what_eager_does(name):
    world = {}
    exec(PROGRAMS, world)
    computed = []
    for function in (world[name], frontend.compile(world[name], backend="eager", fullgraph=True)):
        (x,) = world["args"]()
        torch.manual_seed(1)
        for module in (world["model"], world["dropping"]):
            module.zero_grad()
        result = function(x)
        with Counting() as counting:
            torch.utils._pytree.tree_flatten(result)[0][0].sum().backward()
        computed.append([one for one in counting.ran if "detach" not in str(one)])
    assert computed[0] == computed[1]
    assert computed[0]


def test_another_policy_is_another_entry():
    world = {}
    exec(PROGRAMS, world)
    compiled = frontend.compile(world["in_a_set"], backend="eager", fullgraph=True)
    ran = []
    for kept in ({torch.ops.aten.addmm.default}, set(), {torch.ops.aten.addmm.default}):
        world["KEPT_SET"].clear()
        world["KEPT_SET"].update(kept)
        (x,) = world["args"]()
        result = compiled(x)
        with Counting() as counting:
            result.sum().backward()
        ran.append(counting.ran.count(torch.ops.aten.addmm.default))
    assert ran == [0, 2, 0]
