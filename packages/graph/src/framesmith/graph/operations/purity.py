"""Whether an operation does more than compute its result: changes an argument, a switch, a random state.

Used before a call (what has to be undone if it fails) and by pruning (what may be dropped when unused). The
answer errs on the side of "it does".
"""

import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from torch import fx
from torch._subclasses import FakeTensor
from torch.distributed.tensor import DTensor
from torch.fx.operator_schemas import get_signature_for_torch_op

from framesmith.graph.environment.dual_levels import LEVEL_SWITCHES
from framesmith.graph.environment.inference_blocks import BLOCK_SWITCHES
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.tensor_hooks import attach_hook, attach_traced_hook, lend_hook, remove_hook

IMPURE = "framesmith_impure"

_MUTATING_METHODS = frozenset(
    {
        "backward",
        "retain_grad",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "record_stream",
        "__setitem__",
    }
)
_MUTATING_FUNCTIONS = frozenset(
    {
        operator.setitem,
        operator.delitem,
        setattr,
        delattr,
        operator.iadd,
        operator.isub,
        operator.imul,
        operator.itruediv,
        operator.ifloordiv,
        operator.imod,
        operator.ipow,
        operator.iand,
        operator.ior,
        operator.ixor,
        operator.ilshift,
        operator.irshift,
        operator.imatmul,
        attach_hook,
        attach_traced_hook,
        lend_hook,
        remove_hook,
    }
)
_TORCH_MODULES = ("torch", "math", "operator", "_operator", "builtins")
_NORMALIZATIONS = frozenset(
    {
        "batch_norm",
        "instance_norm",
        "native_batch_norm",
        "batch_norm_impl_index",
        "cudnn_batch_norm",
        "miopen_batch_norm",
        "batch_norm_gather_stats",
        "batch_norm_gather_stats_with_counts",
        "batch_norm_update_stats",
    }
)
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
_RANDOM_NAMES = frozenset(
    {
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "multinomial",
        "normal", "poisson", "binomial", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
        "feature_dropout", "feature_alpha_dropout", "rrelu", "gumbel_softmax", "native_dropout",
        "scaled_dot_product_attention", "multi_head_attention_forward", "fractional_max_pool2d",
        "fractional_max_pool3d", "checkpoint_with_random_numbers", "_standard_gamma", "_sample_dirichlet",
        "rrelu_with_noise", *_RECURRENT,
    }
)  # fmt: skip

_ASSERTIONS: frozenset[object] = frozenset({torch._assert_async, torch._check})


def may_mutate(op: str, target: object, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether the call may change one of its arguments, judged by the target, the arguments and the keywords."""
    if kwargs and (kwargs.get("out") is not None or kwargs.get("inplace") is True):
        return True
    if _target_mutates(op, target) or (len(args) > 1 and _inplace_flag(target, args)):
        return True
    return is_normalization(target) and _is_training(args, kwargs)


@lru_cache(maxsize=4096)
def is_normalization(target: object) -> bool:
    """Whether it is a normalization that writes to running statistics; schemas and version counters do not show it."""
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    return str(getattr(target, "__name__", "")).removeprefix("_") in _NORMALIZATIONS


def _is_training(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether a normalization runs in training mode. All take the flag as their sixth argument; without it: yes."""
    given = [kwargs[name] for name in ("training", "train", "use_input_stats") if name in kwargs]
    # A node, a number that only the graph knows, counts as training.
    return (given or [*args[5:6], True])[0] is not False


def _inplace_flag(target: object, args: Sequence[object]) -> bool:
    # F.relu(x, True): the flag by position
    return any(arg is True for arg in args) and any(
        position < len(args) and args[position] is True for position in _inplace_positions(target)
    )


@lru_cache(maxsize=1024)
def _inplace_positions(target: object) -> frozenset[int]:
    """The positions that the parameter `inplace` has in the signatures of the target."""
    code = getattr(target, "__code__", None)
    if code is not None:
        forms = [code.co_varnames[: code.co_argcount]]
    else:
        signatures = get_signature_for_torch_op(target) if callable(target) else None
        forms = [tuple(signature.parameters) for signature in signatures or ()]
    return frozenset(form.index("inplace") for form in forms if "inplace" in form)


@lru_cache(maxsize=4096)
def _target_mutates(op: str, target: object) -> bool:
    if op == "call_method":
        name = str(target)
        return (
            name in _MUTATING_METHODS
            or (name.endswith("_") and not name.endswith("__"))
            # `__iadd__` and the like; that `__index__` is taken for one errs on the safe side.
            or name.startswith("__i")
        )
    if isinstance(target, torch._ops.OpOverload):
        return bool(target._schema.is_mutable)
    if isinstance(target, torch._ops.OpOverloadPacket):
        return any(getattr(target, name)._schema.is_mutable for name in target._overload_names)
    if target in _MUTATING_FUNCTIONS:
        return True
    # `and_`, `or_`, `not_` and `is_` only avoid keywords
    if getattr(target, "__module__", None) == "_operator":
        return False
    name = str(getattr(target, "__name__", ""))
    return name.endswith("_") and not name.endswith("__")


@lru_cache(maxsize=4096)
def is_foreign(target: object) -> bool:
    """Whether the target is neither torch's nor from `builtins`, `math` or `operator`, nor enters or leaves a block of ours.

    Operators of `torch.ops` are never foreign, higher-order operators always: they run a graph of their own.
    """
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return False
    if target in BLOCK_SWITCHES or target in LEVEL_SWITCHES:
        return False
    if isinstance(target, torch._ops.HigherOrderOperator):
        return True
    module = getattr(target, "__module__", None) or getattr(
        type(getattr(target, "__self__", None)), "__module__", ""
    )
    return str(module).split(".")[0] not in _TORCH_MODULES


@lru_cache(maxsize=4096)
def _random(op: str, target: object) -> bool:
    if isinstance(target, torch._ops.OpOverload):
        return torch.Tag.nondeterministic_seeded in target.tags
    name = str(target) if op == "call_method" else str(getattr(target, "__name__", ""))
    return name in _RANDOM_NAMES or (op == "call_method" and name.startswith("random"))


def is_collective(node: fx.Node) -> bool:
    """Whether the node takes part in what several processes do together: it may neither be dropped nor run a second time."""
    for one in (node, *node.all_input_nodes):
        value = one.meta.get(EXAMPLE)
        # asked for each operation of each trace
        if type(value) is not FakeTensor and is_spread(value):
            return True
    return _is_collective(node.target)


def is_spread(value: object) -> bool:
    """Whether a value is a tensor that is spread over several processes: each operation on it may move data between them."""
    return isinstance(value, DTensor) and value._spec.mesh.size() > 1


@lru_cache(maxsize=4096)
def _is_collective(target: object) -> bool:
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    is_operator = isinstance(target, torch._ops.OpOverloadPacket)
    return is_operator and str(target).startswith("_c10d_functional.")


def is_random(node: fx.Node) -> bool:
    """Whether the node draws random numbers."""
    return (
        node.op in ("call_function", "call_method")
        and _random(node.op, node.target)
        and not _drops_nothing(node)
    )


def draws(node: fx.Node) -> bool:
    """Whether the node draws random numbers, also into an existing tensor (`x.normal_()`)."""
    if node.op not in ("call_function", "call_method"):
        return False
    return is_random(node) or (
        is_seeded(operation_text(node)) and not is_outside_of_training(node.args, node.kwargs)
    )


@lru_cache(maxsize=4096)
def is_seeded(name: str) -> bool:
    """Whether torch says of the operator of this name, which writes, that it draws."""
    packet = getattr(torch.ops.aten, name, None) if name.endswith("_") else None
    # `__lt__` is a method of the table of operators itself.
    return isinstance(packet, torch._ops.OpOverloadPacket) and any(
        torch.Tag.nondeterministic_seeded in getattr(packet, one).tags for one in packet._overload_names
    )


def operation_text(node: fx.Node) -> str:
    """The name of the method or function that a node calls, as torch has it."""
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))


def draws_otherwise_when_spread(
    op: str, target: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> bool:
    """Whether a call draws random numbers for a tensor that is spread over processes, of a device with states of its own for each:
    the first draw sets them up, and fakes must not."""
    if not _random(op, target) or is_outside_of_training(args, kwargs):
        return False
    values = [one.meta.get(EXAMPLE) for one in args if isinstance(one, fx.Node)]
    return any(isinstance(one, DTensor) and one._spec.mesh.device_type != "cpu" for one in values)


def _drops_nothing(node: fx.Node) -> bool:
    """Whether it is dropout outside of training, or attention or recurrent layers without dropout: they draw nothing."""
    name = str(getattr(node.target, "__name__", ""))
    if name == "scaled_dot_product_attention":
        chance = [*node.args[4:5], node.kwargs.get("dropout_p", 0.0)][0]
        return isinstance(chance, float | int) and chance == 0
    if name in _RECURRENT:
        # lstm(input, state, weights, has_biases, layers, dropout, train, ...), one argument more for a packed sequence
        chances = [(index, value) for index, value in enumerate(node.args) if isinstance(value, float)]
        return any(value == 0.0 or node.args[index + 1 : index + 2] == (False,) for index, value in chances)
    return "dropout" in name and is_outside_of_training(node.args, node.kwargs)


def is_outside_of_training(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether a call of `torch.dropout(input, p, train)` or `nn.functional.dropout(input, p, training)` drops nothing."""
    given = [kwargs[flag] for flag in ("training", "train") if flag in kwargs]
    return (given or [*args[2:3], True])[0] is False


def is_switch(node: fx.Node) -> bool:
    """Whether the node turns one of torch's switches: an impure function of torch that takes no value of the graph."""
    return (
        node.op == "call_function"
        and bool(node.meta.get(IMPURE))
        and not node.all_input_nodes
        and not (_random(node.op, node.target) or is_foreign(node.target))
    )


def is_assertion(target: object) -> bool:
    """Whether the operation gives nothing and changes nothing: it may run again."""
    return target in _ASSERTIONS


def is_pure(node: fx.Node) -> bool:
    """Whether the node may be dropped when its result is unused. Needs the marks that the recorder left in `meta`."""
    if node.op == "get_attr":
        return True
    if node.op not in ("call_function", "call_method"):
        return False
    if node.meta.get(IMPURE, True):
        return False
    return not (is_random(node) or is_foreign(node.target) or is_collective(node) or node.is_impure())
