"""Modules: attributes, calls and stores by the short ways, and when those are not taken."""

import pytest
import torch
from torch import nn
from torch_tracing import Trace, same

from framesmith.graph import GraphBreak
from framesmith.variables.core import Constant, ObservedException, PendingCall
from framesmith.variables.nn.nn_modules import SHORTCUTS, table_of

X = torch.randn(3, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 5)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("nothing", None)
        self.count = 0

    def forward(self, x):
        return self.linear(x)


def test_a_module_has_its_own_tracker():
    with Trace(m=Net()) as trace:
        assert trace.m.shortcuts is SHORTCUTS
        assert trace.m.python_type is Net


@pytest.mark.parametrize("name", ["linear", "scale", "total", "count", "training", "forward"])
def test_an_attribute_has_the_type_it_has_in_eager(name):
    net = Net()
    with Trace(m=net) as trace:
        assert trace.m.attribute(trace.tx, name).realize().python_type is type(getattr(net, name))
        trace.close()
        assert trace.accepts(m=Net())


def test_a_buffer_that_is_none():
    with Trace(m=Net()) as trace:
        assert trace.m.attribute(trace.tx, "nothing").realize().as_python_constant() is None


def test_an_unknown_attribute_is_an_attribute_error():
    net = Net()
    with Trace(m=net) as trace:
        with pytest.raises(ObservedException):
            trace.m.attribute(trace.tx, "missing")
        assert trace.accepts()
        net.missing = 1
        assert not trace.accepts()


@pytest.mark.parametrize("change", [lambda m: m.eval(), lambda m: setattr(m, "training", 0)])
def test_the_mode_is_guarded_when_it_was_read(change):
    net = Net()
    with Trace(m=net) as trace:
        assert trace.m.attribute(trace.tx, "training").realize().as_python_constant() is True
        assert trace.accepts()
        change(net)
        assert not trace.accepts()


def test_a_parameter_is_an_input_of_the_graph():
    net, tripled = Net(), Net()
    tripled.scale.data.fill_(3)
    with Trace(m=net, x=X) as trace:
        result = trace.call(torch.mul, trace.x, trace.m.attribute(trace.tx, "scale"))
        assert same(trace.run(result, m=tripled)[0].detach(), X * 3)


def test_a_call_without_hooks_goes_to_forward():
    with Trace(m=Net(), x=X) as trace:
        pending = trace.m.begin_call(trace.tx, [trace.x], {})
        assert isinstance(pending, PendingCall)
        assert pending.code is Net.forward.__code__
        assert trace.accepts(m=Net())


def test_a_hook_that_comes_later_is_a_miss():
    net = Net()
    with Trace(m=net, x=X) as trace:
        trace.m.begin_call(trace.tx, [trace.x], {})
        assert trace.accepts()
        net.register_forward_hook(lambda *_: None)
        assert not trace.accepts()


def test_a_hook_on_all_modules_is_a_miss():
    with Trace(m=Net(), x=X) as trace:
        trace.m.begin_call(trace.tx, [trace.x], {})
        assert trace.accepts()
        handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
        assert not trace.accepts()
        handle.remove()
        assert trace.accepts()


def test_a_module_with_hooks_runs_the_code_of_the_module_class():
    net = Net()
    net.register_forward_hook(lambda *_: None)
    with Trace(m=net, x=X) as trace:
        pending = trace.m.begin_call(trace.tx, [trace.x], {})
        assert pending.code is nn.Module.__call__.__code__


def test_a_forward_of_the_instance_shadows_that_of_the_class():
    net = Net()
    net.forward = lambda x: x
    with Trace(m=net, x=X) as trace:
        pending = trace.m.begin_call(trace.tx, [trace.x], {})
        assert pending.code is net.forward.__code__


def test_a_plain_value_is_stored():
    with Trace(m=Net()) as trace:
        trace.m.set_attribute(trace.tx, "count", Constant(7))
        assert trace.m.attribute(trace.tx, "count").as_python_constant() == 7
        assert trace.m in trace.tx.changes.changed_trackers()


def test_a_buffer_is_replaced_in_its_table():
    with Trace(m=Net(), x=X) as trace:
        value = trace.call(torch.sum, trace.x, 0)
        trace.m.set_attribute(trace.tx, "total", value)
        assert trace.m.attribute(trace.tx, "total").realize() is value
        assert table_of(trace.tx, trace.m, "_buffers") in trace.tx.changes.changed_trackers()


def test_a_new_parameter_is_left_to_the_code_of_the_module_class():
    with Trace(m=Net(), p=nn.Parameter(torch.ones(2))) as trace:
        with pytest.raises(AssertionError, match="nothing is inlined"):
            trace.m.set_attribute(trace.tx, "weight", trace.p)


def test_creating_a_parameter_breaks():
    with Trace(x=X) as trace:
        with pytest.raises(GraphBreak, match="a parameter is created"):
            trace.call(nn.Parameter, trace.x)


def test_a_lazy_module_breaks():
    lazy = nn.LazyLinear(3)
    with Trace() as trace:
        with pytest.raises(GraphBreak, match="no data yet"):
            trace.wrap(lazy)


def test_shared_parameters_are_one_input():
    net = Net()
    net.other = nn.Linear(4, 5)
    net.other.weight = net.linear.weight
    with Trace(m=net) as trace:
        weights = [
            trace.m.attribute(trace.tx, n).realize().attribute(trace.tx, "weight").realize()
            for n in ("linear", "other")
        ]
        assert weights[0] is weights[1]
        trace.close()
        assert trace.accepts()
        assert not trace.accepts(m=Net())
