"""Makes what the tests of this package share importable: `stepping`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
