"""Modules shared by tests stand in `support`; benchmarks run from the root, last on the path."""

import functools
import gc
import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.runner import runtestprotocol

TESTS = Path(__file__).parent
KERNELS = {"dynamics_tests", "benchmarks_tests"}  # folders whose tests compile most kernels
NO_KERNELS = {"files", "solvers", "splines", "studies"}  # and those with hardly a robot
sys.path.insert(0, str(TESTS / "support"))
sys.path.append(str(TESTS.parent))

# A shell starts jobs in the background with SIGINT ignored, and Python then leaves it so: tests of Ctrl-C
# would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


# `TRAJOPT_TESTS_WITHOUT=cyipopt pytest` runs as where a package is missing: importing one of these names,
# separated by commas, raises ModuleNotFoundError. Tests of the package itself are skipped with its name.
for _name in filter(None, os.environ.get("TRAJOPT_TESTS_WITHOUT", "").split(",")):
    sys.modules[_name] = None


def pytest_configure(config):
    """Where no bytecode may stand beside sources, it lies in pytest's cache: else each of the many processes
    that tests start compiles every module anew. Processes that share the tests share a folder, too."""
    cache = getattr(config, "cache", None)
    if sys.dont_write_bytecode and cache and not hasattr(config, "workerinput"):
        os.environ["PYTHONPYCACHEPREFIX"] = str(cache.mkdir("bytecode"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.pluginmanager.register(InOrder())
    if config.option.markexpr == "long":  # the marker of a test is also that of its cases which are thorough
        config.option.markexpr = "long and not thorough"
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        # For solutions that several files use; processes that an interrupt ends may still write there
        shared = tempfile.TemporaryDirectory(prefix="trajopt-tests-", ignore_cleanup_errors=True)
        os.environ["TRAJOPT_TESTS_SHARE"] = shared.name
        config.add_cleanup(shared.cleanup)


def _of_whole_folders(config):
    """Long tests are left out of whole folders: nobody has named one by its file or its words."""
    named = any(".py" in str(argument) for argument in config.args) or config.option.keyword
    return not named and "not long" in config.option.markexpr and " or " not in config.option.markexpr


def pytest_ignore_collect(collection_path, config):
    """Files without fast tests are not even imported where long tests are left out: the one of Hypothesis,
    which looks for constants in all modules that it finds imported, was a tenth of the collection."""
    if not _of_whole_folders(config) or collection_path.suffix != ".py":
        return None
    return "\npytestmark = pytest.mark.long\n" in collection_path.read_text(encoding="utf-8") or None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """No tests are made of long functions where these are left out: they were more than half of all."""
    is_long = name.startswith("test") and any(mark.name == "long" for mark in getattr(obj, "pytestmark", ()))
    return [] if is_long and _of_whole_folders(collector.config) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules, tests and their parameters stay until the end: the garbage collector, which would look through
    all of them again and again (a third of the time of collection), leaves them out, and looks more rarely
    through what tests make: a syntax tree or a plot has more than 700 objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Every second process goes through the folders from their end: where there is no bytecode yet, each
    compiles half of the modules and finds that of the other half."""
    report = yield
    name = getattr(collector.config, "workerinput", {}).get("workerid", "gw0")
    if isinstance(collector, pytest.Directory) and int(name.removeprefix("gw")) % 2:
        report.result.reverse()
    return report


class InOrder:
    """The order of paths for all processes, whichever way they went, before fixtures reorder the tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        if hasattr(config, "workerinput"):
            items.sort(key=lambda item: item.path.parts)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Processes tell the main one of setups and teardowns only where they fail, skip or take what
    `--durations` lists: the two other reports of each test took a quarter of what xdist costs."""
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration >= 0.005:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Order tests: of two processes, each with one half, one begins with kernels of robots, one without.

    Otherwise both compile the same kernels at the same time.
    """
    groups = {0: [], 1: [], 2: []}
    for item in items:
        folders = set(item.path.parts)
        groups[0 if folders & KERNELS else 1 if folders & NO_KERNELS else 2].append(item)
    kernels, others, rest = groups.values()
    cut = max(len(items) // 2 - len(kernels), 0)
    items[:] = kernels + rest[:cut] + others + rest[cut:]


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


@pytest.fixture
def forked_workers(monkeypatch):
    """Processes of a study are forked from one that has imported what they need, which takes a new one 2 s.

    Those of scripts and commands, which tests start as users do, are new ones.
    """
    from trajopt.studies.workers import workers

    if sys.platform != "win32":  # which cannot fork
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["trajopt.studies.multistart", "trajopt.solvers.ipopt", "problems"])
        monkeypatch.setattr(workers, "get_context", lambda _: context)


@pytest.fixture
def few_pictures(monkeypatch):
    """Films have 5 pictures per second unless told otherwise, each drawn as one of 25 is."""
    import trajopt.plot
    from problems.human import plot
    from problems.moves.view import view

    for module in (plot, trajopt.plot):
        monkeypatch.setattr(module, "animate", functools.partial(module.animate, rate=5))
    monkeypatch.setattr(view, "FILM_RATE", 5)


@pytest.fixture(autouse=True)
def pyplot_keeps_no_figure():
    """Figures belong to pyplot where a test has imported it, and it warns of more than twenty open ones."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
