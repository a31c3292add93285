"""Schedulers stepped inside the compiled training step: one graph in each call, and few compiles over many steps."""

import pytest
from tests.end_to_end.support import check_source
from tests.end_to_end.test_training_steps import step

MOMENTUM = "SGD(model.parameters(), 0.1, momentum=0.9)"
ADAM = "AdamW(model.parameters(), 0.1)"
TENSOR = "Adam(model.parameters(), torch.tensor(0.1))"
SCHEDULERS = {
    "StepLR(optimizer, 4)": MOMENTUM,
    "MultiStepLR(optimizer, [3, 9])": MOMENTUM,
    "MultiStepLR(optimizer, [2, 2, 5], 0.5)": ADAM,
    "MultiStepLR(optimizer, [2, 6], 0.3)": TENSOR,
    "ConstantLR(optimizer, 0.5, 3)": MOMENTUM,
    "LinearLR(optimizer, 0.5, total_iters=3)": ADAM,
    "ExponentialLR(optimizer, 0.9)": TENSOR,
    "PolynomialLR(optimizer, 5, 2.0)": MOMENTUM,
    "CosineAnnealingLR(optimizer, 5)": TENSOR,
    "CosineAnnealingWarmRestarts(optimizer, 2, 2)": MOMENTUM,
    "CosineAnnealingWarmRestarts(optimizer, 3)": ADAM,
    "OneCycleLR(optimizer, 0.5, total_steps=20)": MOMENTUM,
    "OneCycleLR(optimizer, 0.5, total_steps=20, three_phase=True, anneal_strategy='linear')": ADAM,
    "CyclicLR(optimizer, 0.01, 0.5, 3)": MOMENTUM,
    "CyclicLR(optimizer, 0.01, 0.5, 3, mode='exp_range', gamma=0.9, cycle_momentum=False)": ADAM,
    "CyclicLR(optimizer, 0.01, 0.5, 3, mode='triangular2')": MOMENTUM,
    "LambdaLR(optimizer, lambda epoch: 0.9**epoch)": MOMENTUM,
    "MultiplicativeLR(optimizer, lambda epoch: 0.9)": ADAM,
    "SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=2), ExponentialLR(optimizer, 0.9)], [2])": MOMENTUM,
    "SequentialLR(optimizer, [ConstantLR(optimizer, 0.1, 2), CosineAnnealingWarmRestarts(optimizer, 3)], [2])": ADAM,
    "ChainedScheduler([ConstantLR(optimizer, 0.1, 3), ExponentialLR(optimizer, 0.9)])": MOMENTUM,
}
MOST = 7  # compiles: the first call, the state of the optimizer, the numbers that change, and the phases of a schedule


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_step_with_its_scheduler_is_one_graph(scheduler):
    source = step("mlp", SCHEDULERS[scheduler], "optimizer.zero_grad()", "pass", "scheduler.step()")
    made = f"\nfrom torch.optim.lr_scheduler import *\nscheduler = {scheduler}\ntorch.manual_seed(1)\n"
    source = source.replace("\ntorch.manual_seed(1)\n", made)
    report = check_source(source, calls=16, backward=False, breaks=0)
    assert report.runs_per_call == [1] * 16
    assert report.graphs <= MOST


@pytest.mark.parametrize(
    "step_of", ["scheduler.step(1.0)", "scheduler.step(float(scheduler.last_epoch % 5))"]
)
def test_a_plateau_of_a_float_is_found_in_one_graph(step_of):
    source = step("mlp", MOMENTUM, "optimizer.zero_grad()", "pass", step_of)
    made = "\nscheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)\ntorch.manual_seed(1)\n"
    report = check_source(source.replace("\ntorch.manual_seed(1)\n", made), calls=8, backward=False, breaks=0)
    assert report.runs_per_call == [1] * 8
