"""Where compiled code is kept, and that numba of other packages is not disturbed."""

import os
import pickle
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
from dynamics.kernels.sincos import sincos


def fresh(**environment):
    """Run a small piece of the dynamics in a new process; its printed words."""
    code = (
        "import dynamics, numba, sys; from dynamics.kernels.compile import cache_folder;"
        "from numba.core import config; before = config.CACHE_DIR;"
        "model = dynamics.RigidBodyModel((dynamics.Body('b', dynamics.Joint('j', 'prismatic'), mass=2.0),));"
        "force = dynamics.momentum(model, [0.0], [1.0])[5];"
        "print(force, before == config.CACHE_DIR, cache_folder())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.fixture
def search_path(monkeypatch):
    return {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}


def test_importing_the_package_does_not_import_numba(search_path):
    code = "import sys, dynamics; dynamics.Joint; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=search_path).returncode == 0


@pytest.mark.long
def test_code_is_cached_under_a_digest_of_the_sources_and_the_setting_of_numba_is_left_as_found(
    search_path, tmp_path
):
    found = fresh(HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), **search_path)
    assert found[:2] == ["2.0", "True"]
    assert kernel.source_digest() in found[2]
    assert found[2].startswith(str(tmp_path))
    assert list(tmp_path.rglob("*.nbi"))


def test_an_edit_in_any_folder_of_the_package_changes_the_digest(tmp_path):
    package = tmp_path / "dynamics"
    shutil.copytree(Path(kernel.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    seen = [kernel.source_digest(package)]
    assert seen == [kernel.source_digest()], "contents and relative paths count, not where the package lies"
    for name in ("model/joint.py", "kernels/simd.py", "algorithms/rnea.py", "errors.py"):
        with (package / name).open("a") as stream:
            stream.write("# edited\n")
        seen.append(kernel.source_digest(package))
    (package / "model" / "joint.py").rename(package / "formats" / "joint.py")
    seen.append(kernel.source_digest(package))
    assert len(set(seen)) == len(seen)


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


@pytest.mark.long
@pytest.mark.faults
def test_damaged_kernels_are_compiled_anew_and_replaced(search_path, tmp_path):
    """Cut, emptied, changed in one bit, or replaced by a pickle: never "Ran out of input", never executed."""
    here = dict(HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), **search_path)
    fresh(**here)
    folder = next(tmp_path.rglob("*.nbi")).parent
    sound = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    assert len(sound) == 2, "index and machine code"
    damages = (
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:200] + bytes([content[200] ^ 4]) + content[201:],
        lambda content: pickle.dumps(Planted(str(tmp_path / "executed"))),
    )
    for damage in damages:
        for path, content in sound.items():
            path.write_bytes(damage(content))
        assert fresh(**here)[0] == "2.0"
        healed = {path: path.read_bytes() for path in sorted(folder.iterdir())}
        assert healed.keys() == sound.keys() and all(len(healed[path]) > 100 for path in sound)
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
    (folder / "planted.nbi").write_bytes(pickle.dumps(Planted(str(tmp_path / "executed"))))
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
    assert not list(tmp_path.rglob("*.nb?"))


def _successor(x):
    return x + 1.0


def test_a_part_of_kernels_is_called_by_kernels_alone():
    @kernel.inlined
    def doubled(x):
        return 2.0 * x

    assert numba.njit(lambda x: doubled(x) + 1.0)(3.0) == 7.0
    with pytest.raises(TypeError, match="doubled is part of kernels"):
        doubled(3.0)


def test_sincos_of_a_complex_number_is_that_of_the_library():
    s, c = sincos(0.3 + 0.1j)
    assert s**2 + c**2 == pytest.approx(1.0)
