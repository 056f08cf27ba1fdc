"""Modules shared by tests stand in `support`; benchmarks run from the root, last on the path."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "support"))
sys.path.append(str(TESTS.parent))
