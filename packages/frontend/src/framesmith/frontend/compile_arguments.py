"""The arguments of `compile`, checked and made into `CompileOptions`: wrong types and unknown values are errors at the call.

The checks that other public functions share, and the form of the messages, are in `argument_checks`.
"""

import sys
from collections.abc import Mapping
from typing import Final, cast

from framesmith.frontend.argument_checks import COMPILE_OPTIONS, make_argument_error, require_flag
from framesmith.frontend.errors import InvalidArgument, UnsupportedInterpreter
from framesmith.frontend.near_misses import near_miss
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.torch_settings import default_backend
from framesmith.graph.backends.backend import (
    inductor_option_type,
    inductor_options,
    is_known_backend,
    list_backends,
)
from framesmith.graph.breaks.errors import UnknownBackend
from framesmith.graph.options import Backend
from framesmith.guards.kinds.base import describe_value, show_value

MODES: Final = (
    "default",
    "reduce-overhead",
    "max-autotune",
    "max-autotune-no-cudagraphs",
    "lite",
)

_FORMER_NAMES: Final = {"nopython": "fullgraph"}
"""What `torch._dynamo.optimize` takes, by the names that `torch.compile` has for it."""


def check_interpreter() -> None:
    """Raise UnsupportedInterpreter where this process runs without the GIL (a free-threaded build, from Python 3.13 on)."""
    has_gil = getattr(sys, "_is_gil_enabled", None)
    if has_gil is not None and not has_gil():
        raise UnsupportedInterpreter(
            "this Python runs without the GIL, where another thread may change what a guard has just checked; "
            "set PYTHON_GIL=1 or use a build with the GIL"
        )


def refuse_unknown(given: Mapping[str, object]) -> None:
    """Raise InvalidArgument for a name that `compile` does not take."""
    for name, value in given.items():
        other = _FORMER_NAMES.get(name)
        hint = near_miss(name, COMPILE_OPTIONS) if other is None else f", it is called {other!r} here"
        raise InvalidArgument(
            f"compile() got {name}={show_value(value)}{hint}; it takes {', '.join(COMPILE_OPTIONS)}"
        )


def require_options(
    fullgraph: object, dynamic: object, backend: object, mode: object, options: object, disable: object
) -> CompileOptions:
    """The options of one compilation. Raises InvalidArgument, or UnknownBackend with the nearest known name."""
    check_interpreter()
    fullgraph = require_flag("compile()", "fullgraph", fullgraph)
    if dynamic is not None and type(dynamic) is not bool:
        raise make_compile_argument_error(
            "dynamic", dynamic, "True, False or None (sizes that were seen to change)"
        )
    require_flag("compile()", "disable", disable)
    chosen = require_backend(default_backend() if backend is None else backend)
    is_inductor = chosen == "inductor"
    # other backends may have modes of their own
    if mode is not None and (not isinstance(mode, str) or (is_inductor and mode not in MODES)):
        raise make_compile_argument_error(
            "mode",
            mode,
            f"one of {', '.join(MODES)}, or None",
            near_miss(mode, MODES) if isinstance(mode, str) else "",
        )
    if options is not None and not (
        isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
    ):
        raise make_compile_argument_error(
            "options", options, "a dict from names of the backend's options to values"
        )
    if mode is not None and options is not None:
        raise InvalidArgument("give either mode or options, not both: a mode is a set of options")
    if (mode not in (None, "default") or options) and chosen in ("eager", "aot_eager"):
        raise InvalidArgument(
            f"the backend {chosen!r} takes neither mode nor options, and was given "
            f"{f'mode={mode!r}' if options is None else f'options={options!r}'}; leave it out, or use backend='inductor'"
        )
    given = dict(options or {})
    if is_inductor:
        check_inductor_options(given)
    return CompileOptions(chosen, fullgraph, dynamic, mode, given)


def require_backend(backend: object) -> str | Backend:
    """The backend: the name of a registered one, or a callable. Raises UnknownBackend or InvalidArgument for others."""
    if isinstance(backend, str):
        if not is_known_backend(backend):
            known = list_backends()
            raise UnknownBackend(backend, known, near_miss(backend, known))
        return backend
    if callable(backend):
        return cast(Backend, backend)
    raise make_compile_argument_error(
        "backend", backend, "a name (frontend.list_backends()) or a callable (graph_module, example_inputs)"
    )


def check_inductor_options(options: Mapping[str, object]) -> None:
    """Raises InvalidArgument for a name that inductor does not have, and for a value of another type than the option has;
    loads inductor's settings if there are options."""
    if not options:
        return
    known = inductor_options()
    for name, value in options.items():
        # dashes as in `torch.compile(options=...)`, which replaces them in the same way
        if name.replace("-", "_") not in known:
            raise InvalidArgument(
                f"inductor has no option {name!r}{near_miss(name, known)}; torch._inductor.list_options() names those it has"
            )
        kind = inductor_option_type(name.replace("-", "_"))
        if kind is not None and not isinstance(value, kind):
            raise InvalidArgument(
                f"inductor's option {name!r} was given {describe_value(value)}; it takes {kind.__name__}"
            )


def make_compile_argument_error(name: str, value: object, expected: str, hint: str = "") -> InvalidArgument:
    """The error for one argument of `compile`."""
    return make_argument_error("compile()", value, expected, name=name, hint=hint)
