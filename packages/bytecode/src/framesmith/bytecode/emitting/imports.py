"""The `import` statement: modules, and names out of them."""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting.variables import load_constant
from framesmith.bytecode.errors import require_count, require_names
from framesmith.bytecode.opcodes import KINDS, ArgumentKind

_AT_ONCE: Final = 2  # the module itself, even where 3.15 is set to import lazily


def import_module(
    emitter: Emitter, name: str, *, names: tuple[str, ...] | None = None, level: int = 0
) -> None:
    """Push the module of `import name`, or of `from name import names` when names are given."""
    if names is not None:
        require_names("import_module()", names)
    require_count("import_module()", level)
    load_constant(emitter, level)
    load_constant(emitter, names)
    emitter.emit("IMPORT_NAME", (name, _AT_ONCE) if KINDS["IMPORT_NAME"] is ArgumentKind.NAME_FLAG2 else name)


def import_from(emitter: Emitter, name: str) -> None:
    """`module -> module, module.name` as `from module import name` finds it."""
    emitter.emit("IMPORT_FROM", name)
