"""Small programs that random programs over wild values were shrunk to."""

import pytest
from tests.end_to_end.support import check_source

END_BEFORE_THE_START = """
import torch

class Numbers:
    def __init__(self):
        self.count = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.count += 1
        if self.count > 2:
            (_ for _ in ()).throw(StopIteration)
        return self.count

def f(x):
    try:
        for number in Numbers():
            x = x + number
    except RuntimeError as error:
        return x, str(error), type(error.__cause__).__name__
    return x

def args():
    return (torch.ones(2),)
"""


def test_the_end_of_an_iterator_thrown_into_a_new_generator_is_converted_as_the_version_does() -> None:
    check_source(END_BEFORE_THE_START, breaks=0)


WARNING_SCALARS = """
import numpy as np
import torch

def f(x, small, unsigned, large):
    return x + 1, {expression}

def args():
    return (torch.ones(2), np.int8(-128), np.uint8(1), np.float32(1e30))
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "expression", ["small * 2", "-unsigned", "abs(small)", "large * large", "large / np.float32(0)"]
)
def test_a_numpy_scalar_that_warns_does_so_in_each_call(expression: str) -> None:
    check_source(WARNING_SCALARS.format(expression=expression), breaks=1)


def test_a_numpy_scalar_that_does_not_warn_is_folded() -> None:
    check_source(WARNING_SCALARS.format(expression="small + 1, unsigned * 2, large < 2"), breaks=0)


VIEW_OF_THE_BASE = """
import torch
from collections import OrderedDict, defaultdict

def f(x, ordered, default):
    return x + 1, {expression}

def args():
    ordered = OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    return (torch.ones(2), ordered, defaultdict(int, a=1))
"""


@pytest.mark.parametrize(
    "expression",
    [
        "list(dict.keys(ordered))",
        "list(dict.items(ordered))",
        "[*dict.__iter__(ordered)]",
        "[*dict.__reversed__(ordered)]",
        "dict.copy(ordered), type(dict.copy(ordered)).__name__",
        "type(dict.copy(default)).__name__",
        "dict.get(ordered, 'a')",
    ],
)
def test_a_method_of_dict_on_a_subclass_that_replaces_it_is_the_one_of_dict(expression: str) -> None:
    check_source(VIEW_OF_THE_BASE.format(expression=expression))


DECLINED_IN_PLACE = """
import torch

class Other:
    def __radd__(self, other):
        return "reflected"

class Number:
    def __iadd__(self, other):
        {line}
        return NotImplemented
    def __add__(self, other):
        if other == 3:
            return NotImplemented
        return undefined_name
    def __ipow__(self, other):
        return NotImplemented

def f(x):
    told = []
    for other in (1, 3, Other()):
        number = Number()
        try:
            number += other
            told.append(number)
        except (NameError, TypeError) as error:
            told.append(str(error))
    number = Number()
    try:
        number **= 2
    except TypeError as error:
        told.append(str(error))
    return x + 1, told

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("line", ["pass", "__import__('framesmith.frontend').frontend.graph_break()"])
def test_an_operator_that_is_declined_in_place_is_named_so_in_the_error(line: str) -> None:
    check_source(DECLINED_IN_PLACE.format(line=line))


COPIED_TYPE = """
import copy
import csv
import struct
import torch

PACKER, READER = struct.Struct("i"), csv.reader([])

class Plain:
    def __init__(self):
        self.items = [1]

class Items(list):
    pass

def f(x):
    try:
        return x + 1, {expression}
    except TypeError as error:
        return x + 1, str(error)

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize(
    "expression",
    [
        "copy.copy(memoryview(b'ab'))",
        "copy.deepcopy(memoryview(b'ab'))",
        "copy.copy(struct.Struct('i'))",
        "copy.copy(PACKER)",
        "copy.copy(READER)",
    ],
)
def test_copying_what_only_c_code_knows_is_refused(expression: str) -> None:
    check_source(COPIED_TYPE.format(expression=expression))


def test_copies_of_instances_of_python_classes_are_made_in_the_trace() -> None:
    check_source(
        COPIED_TYPE.format(expression="copy.copy(Plain()).items, list(copy.deepcopy(Items([1])))"), breaks=0
    )


EXPRESSION = """
import torch

class Index:
    def __index__(self):
        return 2

def f(x, items):
    try:
        return x + 1, {expression}
    except (TypeError, ZeroDivisionError) as error:
        return x + 1, str(error)

def args():
    return (torch.ones(2), [3, 1])
"""


@pytest.mark.parametrize(
    "expression",
    [
        "[0] * (x[0].long() + 1)",
        "(x[0].long() + 1) * items",
        "'ab' * x[0].long(), (1, 2) * x[0].long()",
        "items.__imul__(2) * x[0].long()",
        "items * x[0]",
        "items * x.long()",
    ],
)
def test_a_sequence_is_repeated_by_a_tensor_of_one_integer(expression: str) -> None:
    check_source(EXPRESSION.format(expression=expression))


@pytest.mark.parametrize(
    "expression", ["torch.Size(['a'])", "torch.Size([1.5])", "torch.Size([True, 2])", "torch.Size([Index()])"]
)
def test_a_size_of_anything_but_integers_is_that_of_eager(expression: str) -> None:
    check_source(EXPRESSION.format(expression=expression))


@pytest.mark.parametrize("expression", ["divmod(1.0, 0.0)", "divmod(1, 0)", "divmod(-7.5, 2)"])
def test_divmod_of_constants_fails_with_its_own_text(expression: str) -> None:
    check_source(EXPRESSION.format(expression=expression), breaks=0)


NUMBER_OF_A_HANDLER = """
import torch

class Holder:
    pass

HOLDER = Holder()

def f(x):
    x.clamp_(min=0)
    number = 0
    try:
        number = {number}
        HOLDER.number = number
        y = torch.linalg.inv(x * number)
    except RuntimeError as error:
        return x, number, "failed"
    return x, y, number

def args():
    return (torch.eye(3),)
"""


@pytest.mark.parametrize("number", ["x.shape[0] ** -0.5", "(x.shape[0] / 2) // 1", "(x.shape[0] / 3) % 2"])
def test_a_number_that_a_handler_reads_is_written_where_an_operation_may_fail(number: str) -> None:
    """The operation that writes the number may fail itself: looking at what is seen there must not look again."""
    check_source(NUMBER_OF_A_HANDLER.format(number=number), options={"dynamic": True}, breaks=0, graphs=1)


def test_objects_of_a_class_that_names_no_module():
    """pybind11 keeps the record of a function in an object of such a class."""
    check_source(
        """
import torch, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    graph = torch.jit.trace(lambda x: x + 1, torch.ones(2)).graph
def f(x): return x + 1, [node.kind() for node in graph.nodes()]
def args(): return (torch.ones(2),)
"""
    )
