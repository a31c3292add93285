"""Claims about `torch.nn.Module` instances. The class is guarded apart (`TypeIs`)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, cast, final

from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import InstanceDict

# What `Module.__call__` checks before it goes straight to `forward`.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_hooks_of: Final = cast(Callable[[object], Iterable[object]], itemgetter(*_HOOKS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoModuleHooks(Claim):
    """No hook of a kind that runs around `forward` is registered on the instance."""

    def check(self, value: object) -> bool:
        return not any(_hooks_of(value.__dict__))

    def render(self, value_expression: str, names: Names) -> str:
        attributes = f"{value_expression}.__dict__"
        return _NoHooksIn().render(attributes, names)

    def explain(self, value: object, source: Source) -> str:
        present = [name for name in _HOOKS if value.__dict__.get(name)]
        return f"{source.text()}: has hooks now ({', '.join(present)})"

    def text(self, source: Source) -> str:
        return f"{source.text()} has no hooks"

    def lower(self, source: Source) -> list[tuple[Source, Claim]]:
        return [(InstanceDict(source), _NoHooksIn())]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _NoHooksIn(Claim):
    """`NoModuleHooks` as a claim about the instance's dictionary, which other guards share."""

    def check(self, value: object) -> bool:
        # The names are there from `Module.__init__` on; a KeyError is a miss.
        return not any(_hooks_of(value))

    def render(self, value_expression: str, names: Names) -> str:
        return f"not ({' or '.join(f'{value_expression}[{name!r}]' for name in _HOOKS)})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: has hooks now"

    def text(self, source: Source) -> str:
        return f"no hooks in {source.text()}"
