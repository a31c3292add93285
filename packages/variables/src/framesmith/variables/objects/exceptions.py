"""Exceptions as values: their fields, chaining, matching and reconstruction. Rows of their methods are in `exception_rows`.

Raising from a row goes through `core.raising`, whose maker is registered here; the symbolic interpreter unwinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, GetSetDescriptorType, MemberDescriptorType, TracebackType
from typing import Final, NoReturn, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    class_name,
    derives,
    is_heap_type,
    resolution_order,
    static_lookup,
    type_dict,
)
from framesmith.guards.kinds import Identical, NotIdentical, TypeIs
from framesmith.guards.sources import Attribute
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.attribute_errors import NULL
from framesmith.variables.core.base import FieldDescriptor, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import EXCEPTION_MAKER, raise_observed
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.objects.construction import INSTANCE_MAKERS
from framesmith.variables.objects.exception_chains import chain_to_caller
from framesmith.variables.objects.instance_writing import find_solid_base, replay_instance, write_attributes
from framesmith.variables.objects.instances import InstanceTracker, instance_remains
from framesmith.variables.objects.tracebacks import Passage, Place, Span

ROWS: Final = Rows()

ROWS.generic_access(BaseException)

NONE: Final = Constant(None)
_CHAIN: Final[dict[str, type]] = {
    "__cause__": BaseException,
    "__context__": BaseException,
    "__suppress_context__": bool,
    "__traceback__": TracebackType,
}
_PLAIN_FIELDS: Final = (StopIteration, SystemExit, ImportError, AttributeError, NameError)
"""Classes whose fields of their own hold any object. Before `__init__` they are NULL, which is read as None."""
_KEYWORDS: Final[dict[type, tuple[str, ...]]] = {
    AttributeError: ("name", "obj"),
    NameError: ("name",),
    # `name_from` is new in 3.12
    ImportError: tuple(name for name in ("name", "path", "name_from") if hasattr(ImportError, name)),
}


def keyword_fields(owner: type) -> tuple[str, ...]:
    """The fields that the `__init__` of a builtin class takes as keywords."""
    return next((names for cls, names in _KEYWORDS.items() if issubclass(owner, cls)), ())


def initial_fields(
    owner: type, args: Sequence[Tracker], keywords: Mapping[str, Tracker]
) -> dict[str, Tracker]:
    """What the `__init__` of a builtin class stores (CPython: `Objects/exceptions.c`); later changes of `args` change nothing
    else."""
    fields: dict[str, Tracker] = {"args": TupleTracker(args)}
    if issubclass(owner, StopIteration):
        fields["value"] = args[0] if args else NONE
    elif issubclass(owner, SystemExit) and args:
        fields["code"] = args[0] if len(args) == 1 else fields["args"]
    elif issubclass(owner, ImportError):
        fields["msg"] = args[0] if len(args) == 1 else NULL
    return fields | {name: keywords.get(name, NULL) for name in keyword_fields(owner)}


class ExceptionTracker(InstanceTracker):
    """An exception. Invariant: `fields` holds the C-level fields that are known; those of an existing exception are
    read when needed.

    `follows_caller`: it was raised where the trace handled no exception. Its context is the one that the caller of
    the compiled function handles at run time, if any; the entry sets it when it writes the exception.
    """

    tells_changes = False

    def __init__(
        self,
        cls: type[BaseException],
        args: Sequence[Tracker] = (),
        value: BaseException | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(cls, value, source)
        self.fields: dict[str, Tracker] = {}
        self.changed: dict[str, None] = {}
        self.passed: list[Place] = []
        self.follows_caller = False
        # The arguments of an existing one are read when needed, and guarded.
        if value is None:
            self.fields["args"] = TupleTracker(args)
        self._shows_args = False

    # -- fields ------------------------------------------------------------------------------------
    def field(self, tx: TraceContext, name: str) -> Tracker:
        """One of `args`, `__cause__`, `__context__`, `__suppress_context__`, `__traceback__`; the context breaks the
        graph where it depends on the caller."""
        # The frames of the trace are in `passed`, not in the real traceback, until the entry writes them.
        if name == "__traceback__" and (self.passed or name not in self.fields):
            return (
                TracebackTracker(self, len(self.passed)) if self.passed or self._has_traceback(tx) else NONE
            )
        if name == "__context__" and self.follows_caller:
            return self.unsupported("reading the context of an exception: the caller may handle one")
        self._shows_args |= name == "args"
        if name in self.fields:
            return self.fields[name].realize()
        if self.source is None:
            return Constant(False) if name == "__suppress_context__" else NONE
        descriptor = BaseException.__dict__[name]
        self.fields[name] = lazy(tx, descriptor.__get__(self.value), Attribute(self.source, name))
        return self.fields[name].realize()

    def _has_traceback(self, tx: TraceContext) -> bool:
        """Whether it was raised before the trace; guarded."""
        if self.source is None:
            return False
        place = Attribute(self.source, "__traceback__")
        # Read by the descriptor: a class of the user may define an attribute of that name.
        found: object = BaseException.__dict__["__traceback__"].__get__(self.value)
        tx.guard(place, Identical(None) if found is None else NotIdentical(None))
        return found is not None

    def set_field(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Store a field; a cause also suppresses the context, as in `PyException_SetCause`."""
        tx.changes.note(self)
        if name == "__traceback__":
            # Its own traceback from an earlier point
            # (`with_traceback(error.__traceback__)`): the frames since then go.
            if isinstance(value, TracebackTracker) and value.exception is self:
                del self.passed[value.frames :]
                return
            self.passed.clear()
        if name == "__context__":
            # The context is said now, so it is no longer what the caller handles.
            self.follows_caller = False
        self.fields[name] = value
        # A dict, since the entry replays the fields in the order in which they were first set.
        self.changed[name] = None
        if name == "__cause__":
            self.set_field(tx, "__suppress_context__", Constant(True))

    def note_passage(self, tx: TraceContext, code: CodeType, span: Span) -> None:
        """Record that the exception passes through a traced frame, which its traceback has to show."""
        tx.changes.note(self)
        self.passed.append((code, span))

    def follow_caller(self, tx: TraceContext) -> None:
        """Record that it was raised while the trace handled no exception."""
        tx.changes.note(self)
        self.follows_caller = True

    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """A C-level field: of `BaseException`, read from an existing exception, or set by `__init__`."""
        name, owner = descriptor.__name__, descriptor.__objclass__
        # Slots of Python classes, and what any object has, are not those of exceptions.
        if is_heap_type(owner) or owner is object or name == "__dict__":
            return super().read_field(tx, descriptor)
        if owner is BaseException:
            return self.field(tx, name)
        if name in self.fields:
            return self.fields[name].realize()
        if self.source is not None:
            self.fields[name] = lazy(tx, descriptor.__get__(self.value), Attribute(self.source, name))
            return self.fields[name].realize()
        if issubclass(self.cls, _PLAIN_FIELDS):
            return NONE
        return self.unsupported(f"reading attribute {name!r}")

    def initialize(
        self, tx: TraceContext, owner: type, args: Sequence[Tracker], keywords: Mapping[str, Tracker]
    ) -> None:
        """Run the `__init__` of a builtin class."""
        for name, value in initial_fields(owner, args, keywords).items():
            self.set_field(tx, name, value)

    def args_known(self) -> tuple[Tracker, ...]:
        """The arguments of an exception created in the trace."""
        args = self.fields["args"].realize()
        assert isinstance(args, TupleTracker)
        return args.items

    def store_field(self, tx: TraceContext, descriptor: FieldDescriptor, value: Tracker | None) -> None:
        """Store or delete a C-level field; breaks the graph for those not modelled."""
        name, owner = descriptor.__name__, descriptor.__objclass__
        if is_heap_type(owner):
            super().store_field(tx, descriptor, value)
        elif value is None or not _takes(owner, name, value.realize()):
            self.unsupported(f"changing attribute {name!r}")
        elif name == "args":
            given = value.realize()
            self._shows_args = True
            # A tuple is kept as it is.
            self.set_field(tx, name, given if given.python_type is tuple else TupleTracker(unpack(tx, value)))
        else:
            self.set_field(tx, name, value)

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """Arguments, chained exceptions and attributes."""
        yield from self.fields.values()
        yield from super().children()

    def reconstruct(self, writer: Writer) -> str:
        """A new exception: the builtin `__new__`, then the fields and attributes that were set, by `__init__` or later."""
        # The methods of the builtin base: those of the class were traced, and must not run again.
        base, new = find_solid_base(self.cls)
        make = writer.constant(new, f"new_{base.__name__}")
        cls = writer.constant(self.cls, class_name(self.cls))
        values = "".join(f", {writer.value(argument)}" for argument in self.args_known())
        name = writer.define(self, f"{make}({cls}{values})", "error")
        # For fields whose values are not modelled `__init__` sets the defaults.
        if base is not BaseException and not issubclass(base, _PLAIN_FIELDS):
            start = writer.constant(static_lookup(base, "__init__"), f"init_{base.__name__}")
            writer.statement(f"{start}({name}{values})")
        # `__new__` leaves these NULL. It makes another tuple of `args` than the one that the program has seen.
        done = {key for key, value in self.fields.items() if value is NULL}
        if not self._shows_args:
            done.add("args")
        self._write_fields(name, writer, [key for key in self.fields if key not in done])
        write_attributes(self.own, name, writer)
        self._write_raised(name, writer)
        return name

    def is_restored(self) -> bool:
        """Not known: a traceback grows with each frame that the exception passes."""
        return False

    def replay(self, writer: Writer) -> None:
        """Make the changes of fields, attributes and traceback on the existing exception."""
        assert self.source is not None
        self._write_fields(writer.load(self.source), writer, list(self.changed))
        replay_instance(self.own, writer)
        self._write_raised(writer.load(self.source), writer)

    def _write_raised(self, place: str, writer: Writer) -> None:
        """Emit the effects of raising it in the trace: the context
        of the caller, and the frames that it passed through."""
        if self.follows_caller:
            writer.statement(f"{writer.constant(chain_to_caller, 'chain_to_caller')}({place})")
        if self.passed:
            writer.statement(f"{writer.constant(Passage(tuple(self.passed)), 'passage')}({place})")

    def _write_fields(self, place: str, writer: Writer, names: list[str]) -> None:
        # Setting `__cause__` sets `__suppress_context__` too, so the latter is written last.
        ordered = sorted(names, key=lambda name: (name == "__suppress_context__", name == "__context__"))
        for name in ordered:
            value = self.fields[name]
            descriptor = self._descriptor(name)
            if value is NULL:
                delete = writer.constant(descriptor.__delete__, f"clear_{name}")
                writer.statement(f"{delete}({place})")
                continue
            store = writer.constant(descriptor.__set__, f"set_{name.strip('_')}")
            writer.statement(f"{store}({place}, {writer.value(value)})")

    def _descriptor(self, name: str) -> FieldDescriptor:
        for base in resolution_order(self.cls):
            found = type_dict(base).get(name)
            if isinstance(found, GetSetDescriptorType | MemberDescriptorType):
                return found
        return self.unsupported(f"writing field {name!r}")


def _takes(owner: type, name: str, value: Tracker) -> bool:
    """Whether a C-level field takes the value; if not, or where that is not known, CPython's own store raises."""
    if owner is not BaseException:
        return owner in _PLAIN_FIELDS
    if name in ("__cause__", "__context__", "__traceback__"):
        return issubclass(value.python_type, (type(None), _CHAIN[name]))
    return name == "args" or (name in _CHAIN and issubclass(value.python_type, _CHAIN[name]))


@final
class TracebackTracker(Tracker):
    """The traceback of an exception at this point, with `frames` traced frames. It can be passed on, but not read."""

    def __init__(self, exception: ExceptionTracker, frames: int) -> None:
        self.exception = exception
        self.frames = frames

    @property
    def python_type(self) -> type:
        """`types.TracebackType`."""
        return TracebackType

    def children(self) -> Iterator[Tracker]:
        """The exception."""
        yield self.exception

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`: whether both are tracebacks of the same exception."""
        if isinstance(other, TracebackTracker) and other.exception is self.exception:
            return True
        if issubclass(other.python_type, TracebackType):
            return bool(self.unsupported("use in `is`"))  # exceptions may share one
        return False

    def truth(self, tx: TraceContext) -> bool:
        """A traceback is true."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """`exception.__traceback__`, read after the graph."""
        return f"{writer.value(self.exception)}.__traceback__"


@ROWS.entry(EXCEPTION_MAKER, None)
def make_exception(cls: type[BaseException], args: tuple[Tracker, ...]) -> Tracker:
    """The tracker of `cls(*args)` for an exception class."""
    exception = ExceptionTracker(cls, args)
    exception.fields.update(initial_fields(cls, args, {}))
    return exception


@ROWS.entry(INSTANCE_MAKERS, BaseException)
def _new_exception(tx: TraceContext, cls: type) -> InstanceTracker:
    assert issubclass(cls, BaseException)
    return ExceptionTracker(cls)


# Before the general rule (rank 90), which knows no fields in C.
@ROWS.wrap_when(80, lambda _, cls: issubclass(cls, BaseException))
def wrap_exception(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing exception, guarded by type; its fields are read when needed."""
    assert isinstance(value, BaseException)
    tx.guard(source, TypeIs(type(value)))
    return ExceptionTracker(type(value), (), value, source)


# -- called by the symbolic interpreter -----------------------------------------------------------------------


def make_raised_exception(tx: TraceContext, value: Tracker) -> ExceptionTracker:
    """The exception that `raise value` raises: `value` itself,
    or an instance of the class; TypeError for anything else."""
    value = value.realize()
    if issubclass(value.python_type, type):
        cls = value.as_python_constant()
        # `raise` makes an instance of a class by calling it (CPython: `do_raise`).
        if isinstance(cls, type) and issubclass(cls, BaseException):
            value = value.call(tx, (), {}).realize()
            if not isinstance(value, ExceptionTracker):
                shown = type.__repr__(value.python_type)
                message = f"calling {cls!r} should have returned an instance of BaseException, not {shown}"
                raise_observed(tx, TypeError, message)
    if isinstance(value, ExceptionTracker):
        return value
    return _not_an_exception(tx)


def _not_an_exception(tx: TraceContext) -> NoReturn:
    raise_observed(tx, TypeError, "exceptions must derive from BaseException")


def set_cause(tx: TraceContext, exception: ExceptionTracker, cause: Tracker) -> None:
    """`raise exception from cause`; TypeError when the cause is no exception."""
    cause = cause.realize()
    # `from None` sets the cause to None, which suppresses the context as well.
    if not (isinstance(cause, Constant) and cause.value is None):
        cls = cause.as_python_constant() if issubclass(cause.python_type, type) else None
        # Only such a class is called (CPython: `do_raise`).
        if isinstance(cls, type) and issubclass(cls, BaseException):
            cause = cause.call(tx, (), {}).realize()
            # The versions word this error differently.
            if not isinstance(cause, ExceptionTracker):
                cause.unsupported("being the cause of an exception")
        if not isinstance(cause, ExceptionTracker):
            raise_observed(tx, TypeError, "exception causes must derive from BaseException")
    exception.set_field(tx, "__cause__", cause)


def set_context(tx: TraceContext, exception: ExceptionTracker, handled: Tracker | None) -> None:
    """Make the exception being handled the context, as `_PyErr_SetObject` does; a cycle of contexts is cut."""
    if handled is None or handled is exception or not isinstance(handled, ExceptionTracker):
        return
    link: ExceptionTracker = handled
    seen = {id(link)}
    # What is behind a link that follows the caller was raised before the trace, so a new exception is not in it;
    # reading it would break the graph. An existing exception may be.
    while exception.source is not None or not link.follows_caller:
        context = link.field(tx, "__context__")
        if not isinstance(context, ExceptionTracker) or id(context) in seen:
            break
        if context is exception:
            link.set_field(tx, "__context__", NONE)
            break
        seen.add(id(context))
        link = context
    exception.set_field(tx, "__context__", handled)


def stop_value(tx: TraceContext, exception: Tracker) -> Tracker:
    """The value of a StopIteration, as C code reads it (`_PyGen_FetchStopIterationValue`)."""
    # By the field of C, even if a subclass hides it with an attribute.
    field = type_dict(StopIteration)["value"]
    assert isinstance(field, FieldDescriptor)
    return exception.realize().read_field(tx, field)


def exception_matches(tx: TraceContext, exception: Tracker, expected: Tracker) -> bool:
    """`except expected`: by real inheritance; `__subclasscheck__` is not called (`PyErr_GivenExceptionMatches`)."""
    return any(derives(exception.python_type, cls) for cls in _expected_classes(tx, expected.realize()))


def _expected_classes(tx: TraceContext, expected: Tracker) -> list[type]:
    # All are checked before any is compared, as CPython does (`check_except_type_valid`).
    options = unpack(tx, expected) if issubclass(expected.python_type, tuple) else [expected]
    classes: list[type] = []
    for option in options:
        cls = option.as_python_constant() if issubclass(option.python_type, type) else None
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            raise_observed(
                tx, TypeError, "catching classes that do not inherit from BaseException is not allowed"
            )
        classes.append(cls)
    return classes


ROWS.add(REMAINS, ExceptionTracker, instance_remains)
