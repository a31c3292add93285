"""Global variables that have the name of a builtin, and functions with few builtins: generated code depends on neither."""

import builtins
import keyword

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch

def divide(x):
    print("divide", x.sum().item())
    return 1 // int(x.sum().item() - 2)

def f(x, items):
    import math
    items.append(x.shape[0] * math.floor(2.5))
    try:
        items.missing
    except AttributeError:
        print("missing")
    try:
        import framesmith_is_not_there
    except ImportError as error:
        print(error)
    try:
        x = x + torch.linalg.cholesky(torch.eye(2) * math.nan)
    except RuntimeError as error:
        items.append(2)
    try:
        return divide(x + 1)
    except ZeroDivisionError as error:
        print(error)
        try:
            divide(x)
        except ZeroDivisionError as other:
            print(other, other.__context__ is error)
    with torch.no_grad():
        return x + len(items), items[:1], x.reshape(7)

def args():
    return torch.ones(2), [1]
"""
NAMES = [name for name in dir(builtins) if name[0] != "_" and not keyword.iskeyword(name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_global_variable_with_the_name_of_a_builtin(name):
    check_source(f"{name} = 'mine'\n{PROGRAM}", calls=2)


FEW = """
import builtins as everything

def args():
    return ({{"modules": []}},)

def f(seen):
    return G(seen)

KEPT = dict(vars(everything))
del KEPT[{name!r}]
space = {{"__builtins__": KEPT}}
exec('''
def inner(seen):
    try:
        seen.missing
    except AttributeError as error:
        print(error)
    {statement}
    try:
        return int(str(seen))
    except ValueError as error:
        return str(error)
''', space)
G = space["inner"]
"""


@pytest.mark.parametrize("statement", ["pass", "import math", "class Inner: pass"])
@pytest.mark.parametrize(
    "name", ["BaseException", "globals", "__import__", "__build_class__", "type", "print", "ValueError"]
)
def test_a_function_with_few_builtins(name, statement):
    check_source(FEW.format(name=name, statement=statement))
