"""Where compiled code is kept, and that numba of other packages is not disturbed."""

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core import config

from dynamics.kernels import compile as kernel
from dynamics.kernels.code_cache import is_own, made_own, trusted_content


def fresh(folder=None, **environment):
    """Run a small piece of the dynamics in a new process, of the checkout in a folder; its printed words."""
    code = (
        "import dynamics, numba, sys; from dynamics.kernels.compile import cache_folder;"
        "from numba.core import config; before = config.CACHE_DIR;"
        "model = dynamics.RigidBodyModel((dynamics.Body('b', dynamics.Joint('j', 'prismatic'), mass=2.0),));"
        "place = dynamics.forward_kinematics(model, [2.0]).position[0, 2];"
        "print(place, before == config.CACHE_DIR, cache_folder())"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.fixture
def search_path(monkeypatch):
    return {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}


def test_importing_the_package_does_not_import_numba(search_path):
    code = "import sys, dynamics; dynamics.Joint; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=search_path).returncode == 0


@pytest.mark.long
def test_checkouts_share_kernels_until_an_edit_changes_their_code(search_path, tmp_path):
    """Another folder, other lines, docstrings and comments: the same kernel. Another product: a new one."""
    source = Path(kernel.__file__).parents[1]
    here = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), **search_path}

    def of_checkout(name, edit):
        package = tmp_path / name / "dynamics"
        shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
        for path in package.rglob("*.py"):
            path.write_text(edit(path.read_text()))
        found = fresh(package.parent, **here)
        assert found[1:] == ["True", str(tmp_path / "cache" / "trajopt" / "kernels")]
        return found[0], len(list((tmp_path / "cache").rglob("*.*")))

    def shifted(text):
        text = re.sub(r'(?m)^( *)"""(?=\w)', r'\1"""Once more: ', text)
        return "# moved\n\n" + text.replace("  # ", "  # so ")

    def halved(text):
        return re.sub(r"(def add_scaled\(a, s, b\):\n.*\n)", r"\1    s = 0.5 * s\n", text)

    assert of_checkout("first", str) == ("2.0", 1)
    assert of_checkout("second", shifted) == ("2.0", 1)
    assert of_checkout("third", halved) == ("1.0", 2)


@pytest.mark.long
@pytest.mark.faults
def test_folders_that_cannot_be_written_are_replaced_by_a_temporary_one(search_path, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    unwritable = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), str(blocked))
    found = fresh(TMPDIR=str(tmp_path), **unwritable, **search_path)
    assert found[:2] == ["2.0", "True"]
    assert found[2].startswith(str(tmp_path / "trajopt-"))


def test_without_any_writable_folder_kernels_are_compiled_and_not_kept(monkeypatch):
    monkeypatch.setattr(kernel, "cache_folder", lambda: None)
    before = config.CACHE_DIR
    assert kernel.kernel(lambda x: x + 1.0)(2.0) == 3.0
    assert before == config.CACHE_DIR


def test_no_folder_is_writable_means_none(monkeypatch):
    monkeypatch.setattr(kernel, "is_writable", lambda folder: False)
    kernel.cache_folder.cache_clear()
    assert kernel.cache_folder() is None
    kernel.cache_folder.cache_clear()


def test_a_user_without_a_home_keeps_kernels_in_a_temporary_folder(monkeypatch, tmp_path):
    def homeless(name):
        raise RuntimeError("no home")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel.platformdirs, "user_cache_dir", homeless)
    monkeypatch.setattr(kernel.tempfile, "gettempdir", lambda: str(tmp_path))
    found = kernel.cache_folder.__wrapped__()
    assert found is not None and found.parent.parent == tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="temporary folders of Windows are each user's own")
def test_a_temporary_folder_that_others_may_write_is_not_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("USER", "somebody")
    mine = kernel.temporary_folder()
    assert mine is not None and mine.parent == tmp_path / "trajopt-somebody"
    mine.parent.chmod(0o777)
    assert kernel.temporary_folder() is None
    (tmp_path / "trajopt-nobody").write_text("no folder")
    monkeypatch.setenv("USER", "nobody")
    assert kernel.temporary_folder() is None


def test_damaged_kernels_are_compiled_anew_and_replaced(monkeypatch, tmp_path):
    """Cut, emptied, changed in one bit, or replaced by a pickle: never "Ran out of input", never executed."""
    monkeypatch.setattr(kernel, "cache_folder", lambda: tmp_path / "kernels")
    (tmp_path / "kernels").mkdir()
    planted = pickle.dumps(Planted(str(tmp_path / "executed")))
    assert kernel.kernel(_successor)(2.0) == 3.0
    (path,) = (tmp_path / "kernels").iterdir()
    sound = path.read_bytes()
    for damaged in (
        b"",
        sound[: len(sound) // 2],
        sound[:200] + bytes([sound[200] ^ 4]) + sound[201:],
        sound[:-1] + bytes([sound[-1] ^ 4]),
        planted,
        planted + hashlib.sha256(planted).digest(),
        (keyless := sound[32:-32]) + hashlib.sha256(keyless).digest(),
    ):
        path.write_bytes(damaged)
        again = kernel.kernel(_successor)
        assert again(2.0) == 3.0 and not again.stats.cache_hits
        assert list((tmp_path / "kernels").iterdir()) == [path] and len(path.read_bytes()) > 1000
        assert (found := kernel.kernel(_successor))(2.0) == 3.0 and found.stats.cache_hits
    assert not (tmp_path / "executed").exists()


class Planted:
    """Unpickling it makes a file: the code that a stranger would want to have executed."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="Windows keeps caches in the user's own profile")
def test_kernels_that_others_may_write_are_not_executed(tmp_path):
    kept = tmp_path / "kernel.nbc"
    kept.write_bytes(b"code")
    kept.chmod(0o600)
    assert trusted_content(str(kept)) == b"code"
    kept.chmod(0o620)
    assert trusted_content(str(kept)) == b""
    assert trusted_content(str(tmp_path / "missing")) == b""
    foreign = SimpleNamespace(st_uid=os.getuid() + 1, st_mode=0o600)
    assert not is_own(foreign) and is_own(SimpleNamespace(st_uid=0, st_mode=0o644))


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="Windows keeps caches in the user's own profile")
def test_a_kernel_folder_that_others_may_write_is_emptied_and_closed(tmp_path):
    folder = tmp_path / "kernels-1"
    folder.mkdir()
    folder.chmod(0o775)
    (folder / "planted.nbc").write_bytes(pickle.dumps(Planted(str(tmp_path / "executed"))))
    assert made_own(folder)
    assert not list(folder.iterdir()) and folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(folder)
    assert not made_own(tmp_path / "link")


def test_a_cache_that_cannot_be_written_does_not_stop_a_kernel(monkeypatch, tmp_path):
    """A disk that fills up while kernels are kept."""
    monkeypatch.setattr(kernel, "cache_folder", lambda: tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert kernel.kernel(_successor)(2.0) == 3.0
    assert not list(tmp_path.rglob("*.nb*"))


def _successor(x):
    return x + 1.0


def test_a_part_of_kernels_is_called_by_kernels_alone():
    @kernel.inlined
    def doubled(x):
        return 2.0 * x

    assert numba.njit(lambda x: doubled(x) + 1.0)(3.0) == 7.0
    with pytest.raises(TypeError, match="doubled is part of kernels"):
        doubled(3.0)
