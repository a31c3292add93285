"""Backends: finding one by name or callable, and calling it with its failures named.

A backend takes `(graph_module, example_inputs)` and returns something that is called with the inputs and returns
the outputs. The captured graph is not changed here.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from types import FunctionType, ModuleType
from typing import Any, Final

import torch
from torch import fx

from framesmith.graph.backends.inductor_bugs import SETTING, UNSHARED_MEMORY, calls_subgraph, with_own_passes
from framesmith.graph.breaks.errors import BackendFailed, UnknownBackend
from framesmith.graph.breaks.interruptions import is_of_signal_handler
from framesmith.graph.options import Backend, BackendCall, GraphOptions
from framesmith.graph.running.failed_graphs import describe_graph
from framesmith.guards.kinds.base import describe_value, show_value
from framesmith.guards.words import a_type, write_count

_GROUP = "torch_dynamo_backends"
_NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
_LOADED_LATER: Final = {
    "aot_eager": "torch._functorch.aot_autograd",
    "aot settings": "torch._functorch.config",
    "partitions": "torch._functorch.partitioners",
    "inductor": "torch._inductor.compile_fx",
    "inductor settings": "torch._inductor",
    "inductor options": "torch._inductor.config",
    "inductor passes": "torch._inductor.custom_graph_pass",
}
"""Modules that are imported on first use: they take seconds and load torch's whole compiler; most programs need none."""
_REGISTERED: dict[str, Backend] = {}


def register_backend(backend: Backend, name: str | None = None) -> Backend:
    """Register a backend under a name, by default its own, and return it.

    Raises ValueError if another backend has the name or it is empty, TypeError if the backend is no callable or the name no str.
    """
    if not callable(backend):
        raise TypeError(
            f"register_backend() got {describe_value(backend)}, which cannot be called; pass a callable "
            "(graph_module, example_inputs) -> callable, and then its name"
        )
    if name is not None and not isinstance(name, str):
        raise TypeError(
            f"register_backend() got {describe_value(name)}, as the name of a backend; pass a str"
        )
    if name == "":
        raise ValueError(
            "register_backend() got an empty name; pass the one that compile(backend=...) will get"
        )
    key = name or str(getattr(backend, "__name__", type(backend).__name__))
    known = _REGISTERED.get(key)
    if known is not None and known is not backend:
        raise ValueError(
            f"register_backend() got the name {key!r}, which {show_value(known)} has already; choose another name"
        )
    _REGISTERED[key] = backend
    return backend


def list_backends() -> tuple[str, ...]:
    """The names of every known backend, sorted: ours, registered ones, and those of installed distributions."""
    return tuple(sorted({*_REGISTERED, *entry_points(group=_GROUP).names}))


def is_known_backend(name: str) -> bool:
    """Whether there is a backend of this name. Distributions are looked through (milliseconds) for other names than ours."""
    return name in _REGISTERED or bool(entry_points(group=_GROUP, name=name))


def lookup(backend: str | Backend) -> Backend:
    """The backend of this name, or the callable itself.

    Raises UnknownBackend, which lists the known names, and BackendFailed if a distribution's backend cannot be loaded.
    """
    if callable(backend):
        return backend
    known = _REGISTERED.get(backend)
    if known is not None:
        return known
    for point in entry_points(group=_GROUP, name=backend):
        try:
            loaded: Backend = point.load()
        except Exception as error:
            raise BackendFailed(backend, f"could not be loaded from {point.value}: {error}", error) from error
        # Another thread may have loaded it meanwhile; all traces get one object.
        return _REGISTERED.setdefault(backend, loaded)
    raise UnknownBackend(backend, list_backends())


def compile_with(options: GraphOptions, module: fx.GraphModule, examples: Sequence[object]) -> BackendCall:
    """What the chosen backend makes of the module.

    Raises BackendFailed if the backend raises, returns what cannot be called or (with `verify_correctness`) computes
    something else than the graph.
    """
    backend = lookup(options.backend)
    settings: dict[str, object] = {}
    # A backend of the user need not take either argument.
    if options.mode is not None and options.mode != "default":
        settings["mode"] = options.mode
    if options.backend_options:
        settings["options"] = dict(options.backend_options)
    try:
        compiled = backend(module, list(examples), **settings)
    except Exception as error:
        if is_of_signal_handler(error):
            raise
        if not _accepts(backend, 2, settings):
            problem = f"raised {type(error).__name__}: {error}"
            step = _write_signature(backend, settings)
            raise BackendFailed(options.backend_name, problem, error, next_step=step) from error
        problem = f"raised {type(error).__name__}: {error}\n{describe_graph(module)}"
        raise BackendFailed(options.backend_name, problem, error) from error
    if not callable(compiled):
        raise BackendFailed(
            options.backend_name,
            f"returned {describe_value(compiled)}, when it was given a graph; a backend returns a callable "
            "that takes the graph's inputs and returns the tuple of its outputs",
            next_step="return such a callable, for example the graph itself: `return graph_module.forward`",
        )
    # other callables may describe themselves in any way
    if isinstance(compiled, FunctionType) and not _accepts(compiled, len(examples), {}):
        raise BackendFailed(
            options.backend_name,
            f"returned a callable that does not take the {write_count(len(examples), 'input')} of the graph",
            next_step="let the callable that the backend returns take them one by one: (*inputs)",
        )
    if options.verify_correctness:
        _compare(options.backend_name, module, compiled, examples)
    return compiled


def _accepts(function: Callable[..., object], count: int, settings: Mapping[str, object]) -> bool:
    """Whether the function itself, and not one that it wraps, can be called with this many arguments and these settings."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*[None] * count, **settings)
    except TypeError:
        return False
    except ValueError:  # one in C that does not say its parameters
        return True
    return True


def _write_signature(backend: Backend, settings: Mapping[str, object]) -> str:
    named = [f"{name}=..." for name in settings]
    call = ", ".join(("graph_module, example_inputs", *named))
    more = f"; {' and '.join(named)} because compile() got {'them' if named[1:] else 'it'}" if named else ""
    instead = ", or pass an instance of the class" if isinstance(backend, type) else ""
    return f"let the backend take what it is called with: ({call}){more}{instead}"


def require_values(backend: str, result: object, count: int) -> tuple[object, ...]:
    """What a backend's callable returned, as a tuple; a list will do.

    Raises BackendFailed for anything else, such as a single tensor, which would be unpacked into its rows.
    """
    if isinstance(result, tuple | list) and len(result) == count:
        return tuple(result)
    found = "None" if result is None else a_type(type(result))
    if isinstance(result, tuple | list):
        found = f"{found} of {write_count(len(result), 'value')}"
    raise BackendFailed(
        backend,
        f"returned a callable that gave {found}; it has to return a tuple or list with the "
        f"{write_count(count, 'output')} of the graph",
        next_step="let the callable that the backend returns give that, as `graph_module.forward` does",
    )


def _compare(name: str, module: fx.GraphModule, compiled: BackendCall, examples: Sequence[object]) -> None:
    """Run both on copies of the example inputs: a difference beyond rounding, in a result or in what was written to an input, is
    the backend's failure. Nothing is compared where an input has no copy: a number that depends on data, a generator."""
    values = [value.node.hint if isinstance(value, _NUMBERS) else value for value in examples]
    if not all(isinstance(value, torch.Tensor | int | float) for value in values):
        return
    ours, theirs = _copies(values), _copies(values)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        seed = torch.get_rng_state()  # both runs have to draw the same numbers
        expected = module(*ours)
        torch.set_rng_state(seed)
        found = require_values(name, compiled(*theirs), len(expected))
    for what, left, right in (
        ("computes something else than the graph", found, tuple(expected)),
        ("writes something else to the inputs than the graph", theirs, ours),
    ):
        try:
            torch.testing.assert_close(left, right, equal_nan=True)
        except AssertionError as error:
            raise BackendFailed(name, f"{what}: {error}", error) from error


def _copies(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(value.detach().clone() if isinstance(value, torch.Tensor) else value for value in values)


# the built-in backends


def eager(module: fx.GraphModule, examples: Sequence[object], **settings: object) -> BackendCall:
    """Run the captured graph as it is, without a compiler."""
    _refuse_settings("eager", settings)
    # Not the module: a call of it would run the hooks that the process has for all modules.
    return module.forward


def aot_eager(module: fx.GraphModule, examples: Sequence[object], **settings: object) -> BackendCall:
    """Forward and backward graph made by AOTAutograd, run operation by operation."""
    _refuse_settings("aot_eager", settings)
    partition = load_later("partitions").min_cut_rematerialization_partition
    compiled: BackendCall = load_later("aot_eager").aot_module_simplified(
        module,
        examples,
        fw_compiler=_run_boxed,
        bw_compiler=_run_boxed,
        partition_fn=functools.partial(partition, compiler="inductor"),
        keep_inference_input_mutations=True,
    )
    return compiled


def _run_boxed(module: fx.GraphModule, examples: Sequence[object]) -> Callable[[list[Any]], object]:
    def run(arguments: list[Any]) -> object:
        interpreter = fx.Interpreter(module)
        interpreter.extra_traceback = False  # it would change the arguments of an exception
        return interpreter.boxed_run(arguments)

    run._boxed_call = True  # type: ignore[attr-defined]  # how AOTAutograd recognizes the calling convention
    return run


def inductor(
    module: fx.GraphModule,
    examples: Sequence[object],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
) -> BackendCall:
    """torch's own compiler; `mode` and `options` as `torch.compile` documents them."""
    compiler, package = load_later("inductor"), load_later("inductor settings")
    patches: dict[str, object] = {}
    if mode is not None:
        patches.update(package.list_mode_options(mode))
    known = package.config.get_config_copy()
    patches.update(_option_patches(known, options or {}))
    # Only there, since without reuse a graph takes more memory.
    if calls_subgraph(module):
        patches.update(UNSHARED_MEMORY)
    patches[SETTING] = with_own_passes(load_later("inductor passes"), patches.get(SETTING, known[SETTING]))
    compiled: BackendCall = compiler.compile_fx(module, list(examples), config_patches=patches)
    return compiled


def inductor_options() -> Mapping[str, object]:
    """The options of inductor and their values. Loads its settings, not inductor itself."""
    settings: Mapping[str, object] = load_later("inductor options").get_config_copy()
    return settings


def inductor_option_type(name: str) -> type | None:
    """The class of which the values of an option of inductor are; None where that is not one class."""
    declared: object = load_later("inductor options").get_type(name)
    return declared if isinstance(declared, type) else None


def load_later(name: str) -> ModuleType:
    """One of torch's modules that are imported on first use."""
    return importlib.import_module(_LOADED_LATER[name])


def _option_patches(known: Mapping[str, object], options: Mapping[str, object]) -> dict[str, object]:
    patches: dict[str, object] = {}
    for key, value in options.items():
        name = key.replace("-", "_")
        if name not in known:
            raise ValueError(
                f"inductor has no option {key!r}; torch._inductor.list_options() names those it has"
            )
        patches[name] = value
    return patches


def _refuse_settings(name: str, settings: Mapping[str, object]) -> None:
    if settings:
        raise ValueError(f"takes no {' and no '.join(sorted(settings))}: only inductor has modes and options")


for _name, _backend in (("eager", eager), ("aot_eager", aot_eager), ("inductor", inductor)):
    register_backend(_backend, _name)
