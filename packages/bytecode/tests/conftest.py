"""Lets the tests of this folder share modules: the reference interpreter and the programs it runs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
