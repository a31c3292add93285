"""The front door: `from framesmith import frontend; frontend.compile(fn)`."""

from framesmith.frontend.api import compile, reset
from framesmith.frontend.events import configure_logs, counters
from framesmith.frontend.options import config

__all__ = ["compile", "config", "counters", "reset"]

configure_logs()
