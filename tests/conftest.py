"""Modules shared by tests stand in `support`; benchmarks run from the root, last on the path."""

import itertools
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "support"))
sys.path.append(str(TESTS.parent))

# A shell starts jobs in the background with SIGINT ignored, and Python then leaves it so: tests of Ctrl-C
# would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Where no bytecode may be kept beside sources, it goes with the session: else each of the many processes
    that tests start compiles every module anew."""
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="bytecode-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["PYTHONPYCACHEPREFIX"] = folder.name
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items):
    """Of two processes each begins with one half of the list. The first half begins with tests of the kernels of
    robots, the second with tests that need none: else both compile the same kernels at the same time."""
    items.sort(key=lambda item: _half(set(item.path.parts)))


def _half(folders):
    """0 for the first half, 1 for the beginning of the second, 2 for the rest of it."""
    if folders & {"benchmarks_tests", "dynamics_tests"} or folders >= {"trajopt_tests", "solvers"}:
        return 0
    return 1 if "project_tests" in folders else 2


@pytest.fixture
def pass_time(monkeypatch):
    """A function that moves the clock of the solvers by seconds; nothing else does, and nobody waits."""
    from trajopt.solvers import monitor, solver

    passed = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: sum(passed), monotonic=lambda: sum(passed))
    for module in (monitor, solver):
        monkeypatch.setattr(module, "time", clock)
    return passed.append


@pytest.fixture
def looks_take_a_second(monkeypatch, pass_time):
    """Searches before a deadline see a second pass with every look at the clock, and no other time."""
    from trajopt.solvers import solver

    looks = itertools.count()
    monkeypatch.setattr(solver, "time", SimpleNamespace(monotonic=lambda: float(next(looks))))


@pytest.fixture(autouse=True)
def pyplot_keeps_no_figure():
    """Figures belong to pyplot where a test has imported it, and it warns of more than twenty open ones."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
