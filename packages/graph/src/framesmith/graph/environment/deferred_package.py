"""A package whose body (`__init__.py`) is executed later than some of its submodules: when somebody asks for it.

    torch._dynamo.config    has been imported; torch/_dynamo/__init__.py, which imports two hundred modules, has not been executed
    torch._dynamo.reset     executes it

Python has a name for this state: it is what an import leaves behind that failed after the body had imported submodules.
They are in `sys.modules` and the package is not; whoever imports the package, or a submodule that is not there yet, gets
all of it in the ordinary way, with the locks of the import system and with its errors. Here the first import is ended on
purpose, after the submodules that are needed early. The package's module object is kept: it is what the import system
gets when it makes the module at last, so whoever holds it holds the package itself and no substitute for it.
"""

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final, cast, final

from framesmith.graph.environment.collector_during_import import pause_collector_for_import
from framesmith.guards.class_lookup import module_dict


@final
class _EndedEarly(Exception):
    """Raised in place of executing the body, so that the import system ends the first import as a failed one."""


@final
class DeferredModule(ModuleType):
    """The module of a package whose body was not executed. Any access but to an imported submodule imports the package."""

    def __getattribute__(self, name: str) -> object:
        held = module_dict(self)
        if name in held and (not name.startswith("__") or sys.modules.get(_name_of(self)) is self):
            return held[name]  # a special name only for the import system, while that is at work
        return getattr(_finish_import(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_finish_import(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_finish_import(self), name)


@final
class _LoadingModule(ModuleType):
    """The module while its body is executed: the other threads, which hold it already, wait for what is missing."""

    def __getattr__(self, name: str) -> object:
        if not name.startswith("__"):  # special names are what the import system asks for before the body
            importlib.import_module(_name_of(self))  # returns at once in the thread that executes the body
        found: object = ModuleType.__getattribute__(self, name)
        return found


@final
class _EarlyModule(ModuleType):
    """The module while the early submodules are imported: it notes which threads import from it."""

    def __getattr__(self, name: str) -> object:
        if name == "__path__" and self.__spec__ is not None:
            _READERS.add(threading.get_ident())
            return self.__spec__.submodule_search_locations
        return ModuleType.__getattribute__(self, name)


_READERS: Final[set[int]] = set()


def _name_of(module: ModuleType) -> str:
    return cast(str, module_dict(module)["__name__"])


def _finish_import(module: ModuleType) -> ModuleType:
    """The package after the import that was put off."""
    name = _name_of(module)
    found = importlib.import_module(name)
    if found is module and type(module) is DeferredModule:
        # the first import ended while this thread waited for it, or somebody put the module back into `sys.modules`
        if sys.modules.get(name) is module:
            del sys.modules[name]
        found = importlib.import_module(name)
    return found


def _become(module: ModuleType, cls: type[ModuleType]) -> None:
    ModuleType.__setattr__(module, "__class__", cls)


def load(module: ModuleType) -> None:
    """Execute the body of a deferred package; any other module is left as it is."""
    if type(module) is DeferredModule:
        _finish_import(module)


@final
class Deferral(MetaPathFinder, Loader):
    """Puts off the body of one package. In `sys.meta_path` from `start` until the body has been executed.

    `early` are the submodules that `start` imports, all of which must be importable without the body. One that is not, is no
    error: then the package is imported at once. `put_off()` is called when they are there, before any other thread can ask
    for the body; `around()` is entered around the body.
    """

    def __init__(
        self,
        name: str,
        early: Sequence[str],
        put_off: Callable[[], object] = tuple,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._name: Final = name
        self._early: Final = tuple(early)
        self._put_off: Final = put_off
        self._around: Final = around
        self._module: ModuleType | None = None
        self._loader: Loader | None = None  # the one that would have loaded the package without us
        self._starting: int | None = None  # the thread that imports the early submodules
        self._lock = threading.Lock()

    def start(self) -> bool:
        """Import the early submodules and put off the rest; False if the package has been imported without us."""
        with self._lock:
            # Put off already, or executed since.
            if self in sys.meta_path or type(self._module) is ModuleType:
                return True
            if self._name in sys.modules:
                importlib.import_module(self._name)  # waits for a thread that is importing it
                return False
            self._starting = threading.get_ident()
            sys.meta_path.insert(0, self)
            try:
                with pause_collector_for_import():
                    importlib.import_module(self._name)
            except _EndedEarly:
                pass
            finally:
                self._starting = None
            if type(self._module) not in (DeferredModule, _LoadingModule):  # all of it has been imported
                self._stop()
                return type(self._module) is ModuleType
            return True

    def _stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    # the import system asks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give for the package, with us as the loader. They find everything else."""
        if fullname != self._name:
            return None
        spec = self._found_by_others(path, target)
        # No package with a body: there is nothing to put off.
        if spec is None or spec.loader is None or spec.submodule_search_locations is None:
            return spec
        self._loader, spec.loader = spec.loader, self
        return spec

    def _found_by_others(self, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(self._name, path, target)
            if spec is not None:
                return spec
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The one module object of the package."""
        assert self._loader is not None, "the loader is known since the spec was found"
        if self._module is None:
            made = self._loader.create_module(spec)
            self._module = ModuleType(self._name) if made is None else made
        _become(self._module, _LoadingModule)
        return self._module

    def _drop_all_but_submodules(self, module: ModuleType) -> None:
        held = module_dict(module)
        for name, value in list(held.items()):
            if not name.startswith("__") and sys.modules.get(f"{self._name}.{name}") is not value:
                del held[name]

    def exec_module(self, module: ModuleType) -> None:
        """Execute the body or, in the import that `start` makes, import the early submodules and end the import."""
        assert self._loader is not None, "the loader is known since the spec was found"
        assert module.__spec__ is not None, "an imported module has a spec"
        module.__spec__.loader = module.__loader__ = self._loader
        if self._starting == threading.get_ident() and self._import_early(module):
            raise _EndedEarly
        try:
            with self._around():
                self._loader.exec_module(module)
        except BaseException:
            # The next import executes the body anew, in this very module object.
            self._drop_all_but_submodules(module)
            _become(module, DeferredModule)
            raise
        if type(module) is _LoadingModule:
            _become(module, ModuleType)
        self._stop()

    def _import_early(self, module: ModuleType) -> bool:
        """Whether the body can be put off: all of them are there, and no other thread imports from the package."""
        # So that `_EarlyModule` is asked for it, and sees which threads import from the package.
        path = module_dict(module).pop("__path__")
        _become(module, _EarlyModule)
        _READERS.clear()
        try:
            for part in self._early:
                importlib.import_module(f"{self._name}.{part}")
            alone = not _READERS - {threading.get_ident()}
        except Exception:  # whatever it is: without the body it cannot be imported
            alone = False
        module_dict(module)["__path__"] = path
        _become(module, DeferredModule if alone else _LoadingModule)
        if alone:
            self._put_off()
            # An import that failed sets no attribute of the parent, but `import torch._dynamo.config` promises it.
            parent, _, child = self._name.rpartition(".")
            setattr(sys.modules[parent], child, module)
        return alone
