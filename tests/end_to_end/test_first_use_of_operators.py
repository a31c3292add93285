"""An operator of `torch.library` that nobody has used before: `torch.ops` binds it when its name is read, in a trace as well."""

import itertools

import pytest
import torch

from framesmith import frontend

NUMBERS = itertools.count()


@pytest.fixture
def namespace():
    """A namespace with one operator, which `torch.ops` has not bound."""
    name = f"framesmith_first_use_{next(NUMBERS)}"
    library = torch.library.Library(name, "FRAGMENT")
    library.define("add1(Tensor x) -> Tensor")
    library.impl("add1", lambda x: x + 1, "CompositeImplicitAutograd")
    yield name
    library._destroy()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("form", ["torch.ops.{}.add1(x)", "torch.ops.{}.add1.default(x)"])
def test_the_first_use_is_in_the_graph(namespace, form, backend):
    f = eval(f"lambda x: {form.format(namespace)} * 2", {"torch": torch})
    assert "add1" not in vars(getattr(torch.ops, namespace))
    compiled = frontend.compile(f, backend=backend, fullgraph=True)
    for size in (3, 0):
        assert torch.equal(compiled(torch.ones(size)), torch.full((size,), 4.0))
    assert "add1" in vars(getattr(torch.ops, namespace))


def test_a_name_that_is_no_operator_is_an_attribute_error(namespace):
    def read(x):
        try:
            return getattr(torch.ops, namespace).nothing(x)
        except AttributeError as error:
            return str(error)

    expected = read(torch.ones(2))
    assert frontend.compile(read, backend="eager")(torch.ones(2)) == expected


def test_an_operator_that_may_be_missing(namespace):
    def ask(x):
        ops = getattr(torch.ops, namespace)
        return x + 1 if hasattr(ops, "add1") else x, hasattr(ops, "sub1"), getattr(ops, "sub1", None)

    found = frontend.compile(ask, backend="eager")(torch.ones(2))
    assert torch.equal(found[0], torch.full((2,), 2.0))
    assert found[1:] == (False, None)
