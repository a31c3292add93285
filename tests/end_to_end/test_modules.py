"""`nn.Module`: containers, hooks, buffers, modes, parameters shared and replaced; compiled modules stay what they are."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.support import check
from torch import nn
from torch._dynamo import mutation_guard

from framesmith import frontend
from framesmith.frontend import api

torch.manual_seed(0)
X = torch.randn(4, 3)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 5), nn.Linear(5, 2)
        self.scale = 2.0

    def forward(self, x):
        return self.second(F.relu(self.first(x))) * self.scale


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("hidden", torch.ones(3), persistent=False)
        self.calls = 0

    def forward(self, x):
        self.steps += 1
        self.calls += 1
        self.hidden = self.hidden * 2
        return self.norm(x) + self.steps + self.calls + self.hidden


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.named = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))])
        self.table = nn.ParameterDict({"k": nn.Parameter(torch.ones(3))})
        self.pair = nn.Sequential(nn.Linear(3, 3), nn.GELU())

    def forward(self, x):
        for layer in self.items:
            x = layer(x)
        for name, layer in self.named.items():
            x = layer(x) + len(name)
        for weight in self.weights:
            x = x * weight + 1
        return (
            self.pair(x)[:2]
            + self.table["k"]
            + self.items[-1](x)[:2]
            + len(self.items)
            + self.pair[0].weight.sum()
        )


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.again = self.a

    def forward(self, x):
        return self.b(self.a(x)) + self.again(x), self.a.weight is self.b.weight, self.again is self.a


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.embed = nn.Embedding(10, 8)

    def forward(self, tokens):
        h = self.norm(self.embed(tokens))
        return self.attention(h, h, h, need_weights=False)[0]


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2)
        )

    def forward(self, x):
        return self.body(x)


def call(module, x):
    return module(x)


MODULES = {
    "mlp": (Mlp(), X),
    "buffers": (Buffers(), X),
    "containers": (Containers(), X),
    "shared parameters": (Shared(), X),
    "attention": (Attention(), torch.tensor([[1, 2, 3]])),
    "convolution": (Picture(), torch.randn(2, 1, 8, 8)),
    "sequential": (nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)), X),
    "recurrent": (nn.LSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)),
    "transformer layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 3, 8)),
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module, x = MODULES[name]
    check(call, module, x)


@pytest.mark.parametrize("name", MODULES)
def test_module_in_evaluation(name):
    module, x = MODULES[name]
    check(call, copy.deepcopy(module).eval(), x)


def test_a_plain_module_is_one_graph():
    check(call, Mlp(), X, graphs=1, breaks=0)
    check(call, Containers(), X, graphs=1, breaks=0)


def test_train_and_eval_switch_is_noticed():
    check(
        call,
        nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)),
        X,
        calls=4,
        change=lambda m, x: m.train(not m.training),
    )


def test_parameter_replaced_is_noticed():
    def change(m, x):
        m.first.weight = nn.Parameter(m.first.weight.detach() * 2)

    check(call, Mlp(), X, change=change)


def test_parameter_changed_in_place_is_seen():
    check(call, Mlp(), X, change=lambda m, x: m.first.weight.data.mul_(2), graphs=1)


def test_attribute_changed_is_noticed():
    check(call, Mlp(), X, change=lambda m, x: setattr(m, "scale", m.scale + 1))


def test_submodule_replaced_is_noticed():
    check(
        call,
        Mlp(),
        X,
        change=lambda m, x: setattr(
            m,
            "second",
            nn.Sequential(
                nn.Tanh(),
                nn.Linear(5, 2)
                .requires_grad_(False)
                .apply(lambda l: nn.init.ones_(l.weight) if hasattr(l, "weight") else None),
            ),
        ),
        calls=1,
    )


def test_requires_grad_changed_is_noticed():
    check(call, Mlp(), X, change=lambda m, x: m.requires_grad_(not m.first.weight.requires_grad))


def test_list_grows_between_calls():
    check(call, Containers(), X, change=lambda m, x: m.items.append(nn.Identity()))


def pre_hook(module, args):
    return (args[0] + 1,)


def post_hook(module, args, output):
    return output * 2


def note_hook(module, args, output):
    module.notes = getattr(module, "notes", 0) + 1


def kwargs_hook(module, args, kwargs, output):
    return output + len(kwargs)


def kwargs_pre_hook(module, args, kwargs):
    return args, kwargs


def grad_hook(module, grad_input, grad_output):
    return tuple(None if g is None else g * 2 for g in grad_input)


HOOKS = {
    "pre": lambda m: m.first.register_forward_pre_hook(pre_hook),
    "post": lambda m: m.register_forward_hook(post_hook),
    "noting": lambda m: m.second.register_forward_hook(note_hook),
    "with kwargs": lambda m: m.register_forward_hook(kwargs_hook, with_kwargs=True),
    "pre with kwargs": lambda m: m.register_forward_pre_hook(kwargs_pre_hook, with_kwargs=True),
    "prepended": lambda m: (
        m.register_forward_hook(post_hook),
        m.register_forward_hook(kwargs_hook, with_kwargs=True, prepend=True),
    ),
    "always called": lambda m: m.register_forward_hook(note_hook, always_call=True),
    "backward": lambda m: m.second.register_full_backward_hook(grad_hook),
    "backward pre": lambda m: m.second.register_full_backward_pre_hook(
        lambda module, g: tuple(t * 3 for t in g)
    ),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_hook(kind):
    module = Mlp()
    HOOKS[kind](module)
    check(call, module, X)


@pytest.mark.parametrize("kind", HOOKS)
def test_hook_added_later_is_noticed(kind):
    check(call, Mlp(), X, change=lambda m, x: HOOKS[kind](m))


def test_global_hook_added_later_is_noticed():
    def f(module, x, box):
        handle = nn.modules.module.register_module_forward_hook(post_hook) if box else None
        try:
            return call(module, x)
        finally:
            if handle:
                handle.remove()

    check(f, Mlp(), X, [], change=lambda m, x, box: box.append(1))


def test_hook_that_breaks_the_graph():
    def hook(module, args, output):
        print("hook", tuple(output.shape))
        return output + 1

    module = Mlp()
    module.first.register_forward_hook(hook)
    check(call, module, X)


def test_forward_with_a_break_in_a_submodule():
    class Loud(nn.Module):
        def forward(self, x):
            print("loud")
            return x * 2

    check(call, nn.Sequential(nn.Linear(3, 3), Loud(), nn.Linear(3, 3)), X)


def test_module_made_inside():
    def f(x):
        torch.manual_seed(3)
        return nn.Linear(3, 2)(x)

    check(f, X)


def test_parameters_are_listed():
    def f(m, x):
        return (
            sum(p.sum() for p in m.parameters()),
            [n for n, _ in m.named_parameters()],
            len(list(m.modules())),
            [n for n, _ in m.named_children()],
            len(list(m.buffers())),
        )

    check(f, Mlp(), X)


def test_state_dict_inside():
    check(lambda m, x: (list(m.state_dict()), m(x)), Mlp(), X)


def test_missing_submodule_raises_like_eager():
    check(lambda m, x: m.nothing(x), Mlp(), X)


def test_wrong_shape_raises_like_eager():
    check(call, Mlp(), torch.randn(4, 7))


def test_module_attribute_of_tensor_type_is_set():
    class Keep(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return self.last + 1

    check(call, Keep(), X)


def test_training_step():
    def step(model, x, y):
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss.detach()

    check(step, Mlp(), X, torch.randn(4, 2))


def test_optimizer_step():
    def f(model, x, box):
        if not box:
            box.append(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
        box[0].zero_grad()
        loss = model(x).sum()
        loss.backward()
        box[0].step()
        return loss.detach()

    check(f, Mlp(), X, [], calls=3, change=lambda m, x, box: None)


def test_functional_call():
    check(
        lambda m, x: torch.func.functional_call(m, {k: v * 2 for k, v in m.named_parameters()}, (x,)),
        Mlp(),
        X,
    )


def test_weight_norm_parametrization():
    check(call, nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), X)


# -- what compile() leaves in place --------------------------------------------------------------------


def compiled_copy(module):
    return frontend.compile(copy.deepcopy(module), backend="eager")


def test_compiled_module_keeps_class_keys_and_results():
    module = Mlp()
    compiled = compiled_copy(module)
    assert type(compiled) is Mlp and list(compiled.state_dict()) == list(module.state_dict())
    torch.testing.assert_close(compiled(X), module(X))
    assert api.session_of(compiled).history.entries


def test_compiled_module_can_be_pickled():
    compiled = compiled_copy(Mlp())
    compiled(X)
    again = pickle.loads(pickle.dumps(compiled))
    torch.testing.assert_close(again(X), compiled(X))


def test_compiled_module_can_be_copied():
    compiled = compiled_copy(Mlp())
    compiled(X)
    twin = copy.deepcopy(compiled)
    with torch.no_grad():
        twin.first.weight.zero_()
    assert not torch.equal(twin(X), compiled(X))


def test_compiled_module_runs_hooks_added_later():
    compiled = compiled_copy(Mlp())
    before = compiled(X)
    compiled.register_forward_hook(post_hook)
    torch.testing.assert_close(compiled(X), before * 2)


def test_compiled_module_goes_to_evaluation():
    compiled = compiled_copy(nn.Sequential(nn.Dropout(0.9)))
    compiled(X)
    torch.testing.assert_close(compiled.eval()(X), X)


def test_two_compiled_modules_of_one_class_are_apart():
    one, two = compiled_copy(Mlp()), compiled_copy(Mlp())
    assert not torch.equal(one(X), two(X))


def test_compiled_submodule_inside_eager_module():
    model = nn.Sequential(nn.Linear(3, 3), Mlp())
    want = model(X)
    frontend.compile(model[1], backend="eager")
    torch.testing.assert_close(model(X), want)
    assert api.session_of(model[1]).history.entries


def test_compiled_module_inside_a_compiled_function():
    inner = compiled_copy(Mlp())
    want = inner(X) + 1
    outer = frontend.compile(lambda x: inner(x) + 1, backend="eager")
    torch.testing.assert_close(outer(X), want)


def test_module_compile_method_of_torch_is_not_touched():
    module = Mlp()
    assert module._compiled_call_impl is None


def test_modules_are_made_in_a_trace_beside_torch_compile():
    def f(x):
        return nn.Sequential(nn.Tanh(), nn.ReLU())(x)

    before = torch.nn.Module.__init__, torch.nn.Module.__setstate__
    try:
        mutation_guard.install_generation_tagging_init()
        check(f, X)
        assert not frontend.explain(f, X).breaks
    finally:
        torch.nn.Module.__init__, torch.nn.Module.__setstate__ = before


def test_an_encoder_asks_the_padding_mask_as_in_eager():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()

    @torch.no_grad()
    def f(x, padding):
        return encoder(x, src_key_padding_mask=padding)

    check(f, torch.randn(2, 3, 8), torch.tensor([[False, False, True]] * 2))


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.RAdam, torch.optim.ASGD])
def test_a_capturable_optimizer_refuses_the_processor_as_in_eager(kind, foreach):
    def f(model, x):
        optimizer = kind(model.parameters(), capturable=True, foreach=foreach)
        model(x).sum().backward()
        optimizer.step()

    check(f, nn.Linear(4, 2), torch.randn(3, 4))
