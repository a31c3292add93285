"""A module that is compiled in place is its own original: the usual ways to unwrap give the model itself (ADR 0013)."""

import torch

from framesmith import frontend


def compiled_pair():
    plain = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    names = list(plain.state_dict()), [name for name, _ in plain.named_modules()], set(vars(plain))
    model = frontend.compile(plain, backend="eager")
    model(torch.ones(3, 2))
    return plain, model, names


def test_the_usual_ways_to_unwrap_give_the_model():
    plain, model, _ = compiled_pair()
    assert getattr(model, "_orig_mod", model) is plain
    assert (model._orig_mod if hasattr(model, "_orig_mod") else model) is plain
    has_compiled_regions = any(hasattr(part, "_orig_mod") for part in model.modules())  # as accelerate asks
    assert not has_compiled_regions
    assert not isinstance(model, torch._dynamo.eval_frame.OptimizedModule)


def test_nothing_is_added_to_what_a_checkpoint_or_a_walk_sees():
    _, model, (keys, modules, own) = compiled_pair()
    assert list(model.state_dict()) == keys
    assert [name for name, _ in model.named_modules()] == modules
    assert set(vars(model)) - own <= {"_compiled_call_impl"}


def test_a_checkpoint_goes_both_ways():
    plain, model, _ = compiled_pair()
    fresh = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    fresh.load_state_dict(model.state_dict())
    stripped = {key.removeprefix("_orig_mod."): value for key, value in fresh.state_dict().items()}
    assert model.load_state_dict(stripped).missing_keys == []


def test_a_nonstrict_function_runs_once_more_while_it_is_traced_as_under_torch():
    counts = []
    for compile_with in (torch.compile, frontend.compile):
        calls = []

        @torch._dynamo.nonstrict_trace
        def noted(x, calls=calls):
            calls.append(1)
            return x * 2

        compiled = compile_with(lambda x, noted=noted: noted(x) + 1, backend="eager")
        counts.append([compiled(torch.ones(2)) is not None and len(calls) for _ in range(3)])
    assert counts[0] == counts[1] == [2, 3, 4]
