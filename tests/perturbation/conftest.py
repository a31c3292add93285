"""As in the end-to-end tests: bugs of ours are raised, emitted code is verified."""

from tests.end_to_end.conftest import strict_framesmith

__all__ = ["strict_framesmith"]
