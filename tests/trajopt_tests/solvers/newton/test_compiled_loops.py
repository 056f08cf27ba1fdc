"""Compiled loops are shared by all checkouts with one text, and compiled anew where they cannot be read."""

import importlib.util
import os

import numpy as np
import pytest
from numba.core import config

from trajopt.solvers.newton import compiled_loops
from trajopt.solvers.newton.compiled_loops import SharedLocator, shared_folder

TEXT = '''
from trajopt.solvers.newton.compiled_loops import compiled


@compiled
def summed(values):
    """Sum of values."""
    total = 0.0
    for value in values:
        total += value
    return total
'''


@pytest.fixture
def loops(tmp_path, monkeypatch):
    """A function that writes and imports a file of loops in a folder as another checkout would."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))

    def imported(checkout, text=TEXT):
        file = tmp_path / checkout / "loops_of_test.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        compiled_loops.loop_key.cache_clear()
        spec = importlib.util.spec_from_file_location("loops_of_test", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.summed

    return imported


def hits(function):
    assert function(np.array([1.0, 2.0])) == 3.0
    return sum(function.stats.cache_hits.values())


def test_files_of_one_text_share_their_place_and_another_text_has_its_own(loops):
    one, same, other = loops("one"), loops("two"), loops("three", TEXT.replace("Sum of", "The sum of"))
    bases = [each._cache._impl.filename_base for each in (one, same, other)]
    assert bases[0] == bases[1] != bases[2]
    assert {each._cache.cache_path for each in (one, same, other)} == {
        os.path.join(config.CACHE_DIR, "loops")
    }


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows keeps caches in the user's own profile")
def test_a_folder_in_which_others_may_write_is_not_used(tmp_path, monkeypatch):
    for name in ("open", "linked", "file", "own"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "open" / "loops").mkdir()
    (tmp_path / "open" / "loops").chmod(0o770)
    (tmp_path / "linked" / "loops").symlink_to(tmp_path / "own")
    (tmp_path / "file" / "loops").write_text("nothing")
    for name in ("open", "linked", "file", "own"):
        monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / name))
        assert (SharedLocator.from_function(None, __file__) is None) == (name != "own")
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert shared_folder.__wrapped__(tmp_path / "own" / "loops") is None


def test_two_processes_that_save_at_once_give_no_data_the_name_of_others(loops, monkeypatch):
    """Both have read an empty index; the second saves between the index and the data of the first."""
    one, other = (loops(checkout)._cache._cache_file for checkout in ("one", "two"))
    monkeypatch.setattr(other, "_load_index", dict)
    saved = one._save_data

    def late(name, data):
        other.save("second", 2.0)
        saved(name, data)

    monkeypatch.setattr(one, "_save_data", late)
    one.save("first", 1.0)
    assert one.load("first") in (None, 1.0) and one.load("second") == 2.0


@pytest.mark.parametrize("library", ["numba", "llvmlite", "np"])
def test_environments_with_other_libraries_share_no_loops(monkeypatch, library):
    key = compiled_loops.loop_key.__wrapped__(__file__)
    monkeypatch.setattr(getattr(compiled_loops, library), "__version__", "0.0")
    assert compiled_loops.loop_key.__wrapped__(__file__) != key


def test_a_user_without_a_home_keeps_loops_where_numba_does(tmp_path, monkeypatch):
    """platformdirs raises, or gives a path that begins with "~" and is not absolute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(compiled_loops.platformdirs, "user_cache_dir", lambda name: f"~/.cache/{name}")
    assert SharedLocator.from_function(None, __file__) is None and not any(tmp_path.iterdir())

    def homeless(name):
        raise RuntimeError("no home")

    monkeypatch.setattr(compiled_loops.platformdirs, "user_cache_dir", homeless)
    assert SharedLocator.from_function(None, __file__) is None


@pytest.mark.long
def test_a_loop_is_compiled_once_for_two_checkouts(loops):
    assert hits(loops("one")) == 0
    assert hits(loops("two")) == 1
    assert hits(loops("three", TEXT.replace("0.0", "0.0 * 1.0"))) == 0


@pytest.mark.long
@pytest.mark.faults
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"no pickle"])
def test_a_damaged_file_is_compiled_anew_and_replaced(loops, tmp_path, ending, content):
    assert hits(loops("one")) == 0
    (file,) = (tmp_path / "kept" / "loops").glob(f"*.{ending}")
    file.write_bytes(content)
    assert hits(loops("two")) == 0
    assert hits(loops("three")) == 1


@pytest.mark.long
@pytest.mark.faults
def test_a_disk_that_takes_nothing_keeps_no_loop_and_stops_none(loops, monkeypatch):
    def full(*arguments):
        raise OSError("no space")

    function = loops("one")
    monkeypatch.setattr(function._cache._cache_file, "save", full)
    assert hits(function) == 0
