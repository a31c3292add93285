"""Instances of classes that derive from `property`, as the distributions of torch make them."""

import pytest
import torch
import torch.distributions as dist
from tests.end_to_end.support import check_source

from framesmith import frontend

X = torch.tensor([0.5, 0.8, 1.2])


class Named(property):
    """A property with a name."""

    def __init__(self, function, name="none"):
        property.__init__(self, function)
        self.name = name


class Loud(property):
    def __setattr__(self, name, value):
        print("set", name)
        super().__setattr__(name, value)


class Sealed(property):
    __slots__ = ("extra",)


def read(self):
    """How it is read."""
    return self


def bare(self):
    return self


def fields(x):
    made = Named(read, "a")
    return x + len(made.name) + len(made.__doc__), made.fget is read, made.fset, isinstance(made, property)


def documented(x):
    return x + 1, Named(bare).__doc__, Named(read).__doc__, vars(Named(bare, "c"))


def returned(x):
    return x + 1, Named(read, "b"), Named(bare)


def none_given(x):
    return x + 1, property.__new__(Named)


def with_more(x):
    try:
        return x + 1, Sealed(bare, None, bare)
    except AttributeError as error:
        return x, str(error)


def loud(x):
    return x + 1, Loud(read)


def two_calls(x):
    made = Named(read)
    made.other = x * 2
    return made.other + 1, made


def wrong(x):
    try:
        Named()
    except TypeError as error:
        return x, str(error)


def plain(x):
    return x + 1, property(read)


def content(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, property):
        return (
            type(value),
            value.fget,
            value.fset,
            value.fdel,
            value.__doc__,
            getattr(value, "__dict__", None)
            and sorted((key, content(one)) for key, one in vars(value).items()),
        )
    return [content(one) for one in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    "program", [fields, documented, returned, none_given, with_more, loud, two_calls, wrong, plain]
)
def test_new_properties(program, capsys):
    expected = content(program(X)), capsys.readouterr().out
    compiled = frontend.compile(program, backend="eager")
    seen = []
    for _ in range(3):
        result = compiled(X)
        assert (content(result), capsys.readouterr().out) == expected
        seen += [one for one in result if isinstance(one, property)]
    assert len(set(map(id, seen))) == len(seen)


DISTRIBUTIONS = {
    "bernoulli": lambda x: dist.Bernoulli(logits=x).log_prob((x > 1).float()),
    "entropy": lambda x: dist.Bernoulli(probs=x / 3).entropy(),
    "binomial": lambda x: dist.Binomial(5, logits=x).log_prob(torch.tensor([1.0, 2, 3])),
    "mixture": lambda x: dist.MixtureSameFamily(dist.Categorical(logits=x), dist.Normal(x, 1.0)).log_prob(x),
    "one hot": lambda x: dist.OneHotCategorical(logits=x).log_prob(torch.tensor([0.0, 1, 0])),
    "sample": lambda x: dist.Categorical(logits=x).sample(),
    "divergence": lambda x: dist.kl_divergence(dist.Categorical(logits=x), dist.Categorical(logits=x * 2)),
    "relaxed": lambda x: dist.RelaxedOneHotCategorical(torch.tensor(0.5), logits=x).rsample(),
    "multinomial": lambda x: dist.Multinomial(4, logits=x).log_prob(torch.tensor([1.0, 2, 1])),
    "negative binomial": lambda x: dist.NegativeBinomial(5, logits=x).log_prob(torch.tensor([1.0, 2, 3])),
    "triangular": lambda x: dist.MultivariateNormal(x, scale_tril=torch.eye(3)).rsample(),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_one_graph(name):
    program = DISTRIBUTIONS[name]
    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        torch.manual_seed(0)
        expected = program(X)
        torch.manual_seed(0)
        assert torch.equal(compiled(X), expected)


def test_a_property_without_an_accessor_is_named_as_its_class_named_it():
    check_source(
        """
import torch

def read(self):
    return 2

class Named:
    plain = property()
    readable = property(read)
    alias = readable

Named.late = property()
Named.late_readable = property(read)

class Other:
    renamed = Named.__dict__["plain"]

def f(x):
    errors = []
    for name in ("plain", "readable", "alias", "late", "late_readable"):
        for use in (getattr, delattr, lambda owner, name: setattr(owner, name, 1)):
            try:
                errors.append(use(Named(), name))
            except AttributeError as error:
                errors.append(str(error))
    return x + 1, errors

def args():
    return (torch.ones(2),)
"""
    )
