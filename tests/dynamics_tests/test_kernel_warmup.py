"""A warmup leaves no kernel to be compiled, and does nothing where all are there."""

import gc
import os
import pkgutil
import sys
import time
from contextlib import nullcontext
from importlib import import_module

import pytest
from click.testing import CliRunner

import dynamics
from dynamics import kernel_warmup
from dynamics.kernel_warmup import Warmup
from dynamics.kernels import compile as compiling
from dynamics.kernels.code_cache import KernelCache
from dynamics.kernels.kernel_key import kernel_key
from problems import catalogue
from problems.cli.command_line import main
from problems.cli.commands.solve import compiling_beside
from problems.moves import speed_profile


def kernels():
    """Name -> every compiled function of the package that is kept on disk."""
    modules = (import_module(found.name) for found in pkgutil.walk_packages(dynamics.__path__, "dynamics."))
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(getattr(value, "_cache", None), KernelCache)
    }


def test_every_kernel_has_a_key_of_its_own():
    found = {*kernels().values(), speed_profile.backward_pass, speed_profile.forward_pass}
    assert len({kernel_key(each.py_func, each._cache._options, "", "") for each in found}) == len(found)


@pytest.mark.long
def test_every_kernel_is_ready_after_a_warmup_and_a_second_one_compiles_nothing():
    seen = []
    dynamics.warmup(lambda name, number, count: seen.append((number, count)))
    assert seen == [(number, len(seen)) for number in range(len(seen))]
    assert len(kernels()) >= 14
    assert [name for name, kernel in kernels().items() if not kernel.signatures] == []
    again = dynamics.warmup()
    assert again.compiled == 0 and str(again).startswith("all kernels loaded in")
    assert again.folder == compiling.cache_folder() and again.folder.is_dir()


@pytest.mark.long
def test_the_command_tells_its_steps_and_where_kernels_are_kept():
    told = CliRunner().invoke(main, ["warmup"])
    assert told.exit_code == 0 and f"kept in {compiling.cache_folder()}" in told.output
    assert " 1 of 21  inverse dynamics" in told.stderr


@pytest.fixture
def collection():
    """Python's own thresholds of garbage collection."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(
    ("kept", "processors", "begun_with"), [((), 2, [kernel_warmup.LAST]), ((), 1, []), (("one",), 2, [])]
)
def test_a_solve_has_a_second_process_only_where_no_kernel_is_kept(monkeypatch, kept, processors, begun_with):
    begun = []
    monkeypatch.setattr(kernel_warmup, "_second_process", lambda names: begun.append(names) or nullcontext())
    monkeypatch.setattr(kernel_warmup, "portable_folder", lambda: None)
    monkeypatch.setattr(kernel_warmup, "_kept", lambda: set(kept))
    monkeypatch.setattr(kernel_warmup.os, "cpu_count", lambda: processors)
    with kernel_warmup.beside_first_solve():
        during = gc.get_threshold()
    assert begun == begun_with
    assert gc.get_threshold()[:2] == (700, 10) and during[0] == (700 if kept else 50_000)
    assert set(kernel_warmup.LAST) < set(kernel_warmup._steps())


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize("own", [(0, 10, 10), (700, 10, 10), (10**6, 99, 99)])
def test_the_garbage_collector_is_as_before_after_kernels_were_compiled(own):
    gc.set_threshold(*own)
    during = []

    def compile_nothing():
        with kernel_warmup.rare_collection():
            during.extend(gc.get_threshold())
            raise KeyError

    with pytest.raises(KeyError):
        compile_nothing()
    assert gc.get_threshold()[:2] == own[:2]
    assert during[0] == (0 if own[0] == 0 else max(own[0], 50_000))


@pytest.mark.parametrize(("name", "count"), [("six_axis_arm", 1), ("brachistochrone", 0)])
def test_only_a_solve_of_a_robot_asks_for_a_second_process(monkeypatch, name, count):
    begun = []
    monkeypatch.setattr(kernel_warmup, "beside_first_solve", lambda: begun.append(name))
    compiling_beside(catalogue.build(name, {}))
    assert len(begun) == count


def test_a_solve_goes_on_where_no_process_can_be_begun(monkeypatch):
    def refused(*arguments, **options):
        raise OSError("no more processes")

    monkeypatch.setattr(kernel_warmup.subprocess, "Popen", refused)
    with kernel_warmup._second_process(kernel_warmup.LAST):
        solved = True
    assert solved


@pytest.mark.long
def test_the_second_process_begins_at_the_other_end_and_ends_with_the_warmup(monkeypatch, tmp_path):
    """The steps only note who took them, in a module that stands before the package on the path."""
    noted = tmp_path / "noted"
    (tmp_path / "sitecustomize.py").write_text(
        "import time\n"
        "from dynamics import kernel_warmup\n"
        f"note = lambda name: open({str(noted)!r}, 'a').write(name + ' ')\n"
        "steps = {'a': lambda: note('a'), 'b': lambda: time.sleep(600), 'c': lambda: note('c')}\n"
        "kernel_warmup._steps = lambda: steps\n"
    )
    path = [str(tmp_path), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))

    def wait_for_the_other():
        while not noted.exists():
            assert time.monotonic() < end, "the second process took no step"
            time.sleep(0.05)

    end = time.monotonic() + 60.0
    monkeypatch.setattr(kernel_warmup, "_steps", lambda: {"a": wait_for_the_other, "b": int, "c": int})
    done = dynamics.warmup(two_processes=True)
    assert noted.read_text() == "c " and done.compiled == 0, "it was ended in its second step"


def test_without_a_folder_it_says_so():
    assert "not kept: no folder of this user can be written" in str(Warmup(None, 0, 1.0))
