"""Classes are read as CPython reads them: along the resolution order, without asking the metaclass."""

import pytest
from tests.end_to_end.support import check_source

LYING = """
import torch
log = []

class Meta(type):
    def __getattribute__(cls, name):
        log.append(name)
        return type.__getattribute__(cls, name)

    __name__ = property(lambda cls: "Lie")
    __module__ = property(lambda cls: "lies")
    __mro__ = property(lambda cls: ())
    __flags__ = property(lambda cls: 0)
    __dictoffset__ = property(lambda cls: 0)
    __iter__ = __enter__ = __exit__ = __round__ = __index__ = __format__ = lambda cls, *rest: 1 / 0

class A({base}, metaclass=Meta):
    {body}

def f(x):
    value = A()
    log.clear()  # whoever compares the calls may ask
    try:
        result = {expression}
    except Exception as error:
        result = repr(error)
    return x + 1, result, list(log)

def args():
    return (torch.ones(2),)
"""
EXPRESSIONS = [
    ("callable(value)", "object", "pass"),
    ("value.absent", "object", "pass"),
    ("value.absent", "list", "pass"),
    ("value.absent", "tuple", "pass"),
    ("[*value]", "object", "pass"),
    ("value()", "object", "pass"),
    ("[1, 2][value]", "object", "pass"),
    ("(1, 2) * value", "object", "pass"),
    ("{value: 1}", "object", "__hash__ = None"),
    ("{**value}", "dict", "pass"),
    ("(value.append(1), list(value))", "list", "pass"),
    ("round(value)", "object", "pass"),
    ("f'{value:x}'", "object", "pass"),
    ("''.join([value])", "object", "pass"),
    ("abs(value)", "object", "pass"),
    ("len(value)", "object", "pass"),
    ("value + 1", "object", "pass"),
    ("-value", "object", "pass"),
]


def lying(expression, base="object", body="pass"):
    return LYING.replace("{base}", base).replace("{body}", body).replace("{expression}", expression)


@pytest.mark.parametrize(("expression", "base", "body"), EXPRESSIONS)
def test_a_metaclass_is_not_asked_about_its_class(expression, base, body):
    check_source(lying(expression, base, body))


def test_a_metaclass_is_not_asked_when_a_value_is_unpacked_or_matched():
    check_source(
        lying("use(value)")
        + """
def use(value):
    match value:
        case [*_]: return "sequence"
        case {}: return "mapping"
    try:
        one, two = value
    except TypeError as error:
        return str(error)
"""
    )


def test_a_metaclass_is_not_asked_for_a_context_manager():
    check_source(lying("use(value)") + "\ndef use(value):\n    with value:\n        pass\n")


DELETING = """
import torch, types

class Deleting:
    def __get__(self, instance, owner):
        return 10

    def __delete__(self, instance):
        pass
"""


def test_a_descriptor_that_only_deletes_hides_what_a_module_holds():
    # By `getattr`: the specialized LOAD_ATTR of 3.15.0 reads the module's dict from the second execution on, and skips the class.
    check_source(
        DELETING
        + """
class Module(types.ModuleType):
    d = Deleting()

module = Module("module")
vars(module)["d"] = 1

def f(x):
    return x + getattr(module, "d")

def args():
    return (torch.ones(2),)
"""
    )


def test_a_descriptor_that_only_deletes_hides_what_an_instance_holds():
    check_source(
        DELETING
        + """
class A:
    d = Deleting()

def f(a, x):
    vars(a)["d"] = vars(a).get("d", 0) + 1
    return x + a.d, vars(a)["d"]

def args():
    return A(), torch.ones(2)
"""
    )


@pytest.mark.parametrize(
    ("kind", "first"), [("staticmethod", ""), ("classmethod", "cls, "), ("plain", "self, ")]
)
def test_enter_and_exit_are_bound_as_their_descriptors_say(kind, first):
    program = """
import torch

def plain(function):
    return function

class Manager:
    @{kind}
    def __enter__({first}):
        print("entered")
        return 2

    @{kind}
    def __exit__({first}*error):
        print("left")

class Unmodelled:
    __get__ = staticmethod(lambda instance, owner: lambda *error: print("left"))

class Other(Manager):
    __exit__ = Unmodelled()

def f(x):
    with Manager() as number:
        x = x + number
        print("inside")
    with Other() as number:
        x = x * number
    return x * 2

def args():
    return (torch.ones(2),)
"""
    check_source(program.replace("{kind}", kind).replace("{first}", first))


def test_a_reflected_method_is_looked_up_on_the_class_alone():
    check_source(
        """
import torch

class Meta(type):
    def __radd__(cls, other):
        return "of the metaclass"

class Left:
    def __add__(self, other):
        print("asked")
        return NotImplemented

class Right(metaclass=Meta):
    pass

class Static:
    @staticmethod
    def __radd__(other):
        return type(other).__name__

def f(x):
    try:
        found = Left() + Right()
    except TypeError as error:
        found = str(error)
    return x + 1, found, Left() + Static()

def args():
    return (torch.ones(2),)
"""
    )


def test_a_module_of_a_class_with_methods_and_computed_attributes():
    check_source(
        "import torch, types\n"
        "class Settings(types.ModuleType):\n"
        "    factor = 3\n"
        "    def double(self): return self.factor * 2\n"
        "    def __getattr__(self, name): return self.double() if name == 'computed' else self.missing(name)\n"
        "    def missing(self, name): raise AttributeError(name)\n"
        "settings = Settings('settings')\n"
        "def f(x, numbers):\n"
        "    settings.factor = len(numbers)\n"
        "    return x * settings.computed + settings.double(), getattr(settings, 'other', None)\n"
        "def args(): return [torch.ones(3), [1]]\n",
        change=lambda x, numbers: numbers.append(1),
        breaks=0,
    )
