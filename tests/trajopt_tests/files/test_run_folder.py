"""Folders of results: one run at a time, files that belong together, and none of a user's own lost."""

import errno
import json
import os
import subprocess
import sys
import tempfile

import pytest

from trajopt.base import files
from trajopt.base.errors import ResultFolderError
from trajopt.base.files import MANIFEST, RunFolder, locked, manifest, mixture, write_text

OUTSIDE = ("../../victim.txt", "/etc/hosts", "..", ".", "", "b/..", "..\\victim.txt", "C:victim.txt", "a\0b")


def run(folder, name, **files):
    """A run that writes these files and publishes them."""
    with RunFolder(folder) as results:
        for file, text in files.items():
            (results.stage / file.replace("_", ".")).write_text(text)
        return results.publish(name)


def names(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def test_files_of_the_former_run_go_and_those_of_the_user_stay(tmp_path):
    run(tmp_path, "one", solution_npz="1", certificate_txt="1", torques_png="1", notes_txt="ours")
    (tmp_path / "mine.txt").write_text("the user's own")
    (tmp_path / "notes.txt").write_text("ours, and the user wrote into it")
    assert run(tmp_path, "two", solution_npz="2", torques_png="2") == ["torques.png", "solution.npz"]
    assert names(tmp_path) == {"solution.npz", "torques.png", "mine.txt", "notes.txt", MANIFEST}
    assert (tmp_path / "torques.png").read_text() == (tmp_path / "solution.npz").read_text() == "2"
    assert list(mixture(tmp_path, "two")) == []


def test_a_folder_of_before_loses_nothing(tmp_path):
    """No manifest tells what the files of an earlier version are."""
    for name in ("solution.npz", "certificate.txt", "report.html"):
        (tmp_path / name).write_text("0")
    run(tmp_path, "one", solution_npz="1")
    assert names(tmp_path) == {"solution.npz", "certificate.txt", "report.html", MANIFEST}


def test_a_mixture_is_told(tmp_path):
    run(tmp_path, "one" * 11, solution_npz="1", certificate_txt="1")
    assert "the files beside solution.npz are of another run (oneoneon, not twotwotw)" in list(
        mixture(tmp_path, "two" * 11)
    )
    (tmp_path / "certificate.txt").write_text("holds")
    assert list(mixture(tmp_path, "one" * 11)) == ["certificate.txt was changed since the run wrote it"]
    assert list(mixture(tmp_path / "elsewhere", "one")) == []


def test_figures_that_are_drawn_later_belong_to_the_run(tmp_path):
    run(tmp_path, "one", solution_npz="1", torques_png="1")
    with RunFolder(tmp_path) as results:
        (results.stage / "torques.png").write_text("drawn again")
        assert results.add("one") == ["torques.png"]
    assert list(mixture(tmp_path, "one")) == [] and names(tmp_path) >= {"solution.npz", "torques.png"}
    with RunFolder(tmp_path) as results:
        (results.stage / "joints.png").write_text("of another solution")
        results.add("two")
    assert manifest(tmp_path).run == "one" and (tmp_path / "solution.npz").read_text() == "1"


@pytest.mark.parametrize("step", range(1, 7))
def test_a_run_that_ends_while_it_publishes_leaves_the_old_solution_or_the_new(tmp_path, monkeypatch, step):
    """Every rename is the last thing that happens, once; the next run then removes what both have left."""
    run(tmp_path, "one", solution_npz="1", certificate_txt="1", summary_json="1")
    replace, count = os.replace, 0

    def killed(source, target):
        nonlocal count
        count += 1
        if count == step:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", killed)
    ended = False
    try:
        run(tmp_path, "two", solution_npz="2", summary_json="2", report_html="2")
    except KeyboardInterrupt:
        ended = True
    monkeypatch.undo()
    assert ended == (step <= 5), "two manifests, two files and the solution are renamed"
    solution = (tmp_path / "solution.npz").read_text()
    assert solution == ("1" if ended else "2")
    mixed = (tmp_path / "summary.json").read_text() != solution
    assert bool(list(mixture(tmp_path, {"1": "one", "2": "two"}[solution]))) or not mixed
    if ended:
        with pytest.warns(UserWarning, match="an earlier run was killed after its solve: its files are in"):
            run(tmp_path, "three", solution_npz="3")
        assert [path.read_text() for path in tmp_path.glob("killed-run-*/solution.npz")] == ["2"]
    else:
        run(tmp_path, "three", solution_npz="3")
    left = {name for name in names(tmp_path) if not name.startswith("killed-run-")}
    assert left == {"solution.npz", MANIFEST} and (tmp_path / "solution.npz").read_text() == "3"


def test_a_disk_that_fills_up_while_files_are_moved_leaves_them_where_the_message_says(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    told = r"\(No space left.*: the files of the run are in .*unfinished, the next run here keeps them"
    with pytest.raises(ResultFolderError, match=told):
        run(tmp_path, "one", solution_npz="1")
    assert (tmp_path / ".unfinished" / "solution.npz").read_text() == "1"


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '{"run": 5}', '{"files": {"a": "b"}}', '{"files": []}', "\0", "[" * 100_000),
        json.dumps({"run": "x", "files": {name: [""] for name in OUTSIDE}}),
    ],
)
def test_a_manifest_that_is_none_removes_nothing(tmp_path, content):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "victim.txt").write_text("x")
    (inner / MANIFEST).write_text(content)
    assert manifest(inner).files == {}
    run(inner, "one", solution_npz="1")
    assert (tmp_path / "victim.txt").exists() and (inner / "solution.npz").exists()


@pytest.mark.long
def test_two_processes_do_not_write_one_folder(tmp_path):
    code = "import sys, pathlib; from trajopt.base.files import RunFolder\n"
    code += f"with RunFolder(pathlib.Path({str(tmp_path)!r})): print('locked', flush=True); sys.stdin.read()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as other:
        assert other.stdout.readline() == b"locked\n"
        with (
            pytest.raises(ResultFolderError, match="another process writes its results to"),
            locked(tmp_path),
        ):
            pass
        other.kill()
    with locked(tmp_path):
        pass  # a process that was killed holds no lock
    assert not list(tmp_path.glob("*.lock")) and not list(tmp_path.glob(".*.lock"))


def test_a_folder_that_cannot_take_results_is_refused_before_the_solve(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "file", tmp_path / "file" / "in", tmp_path / "a\0b"):
        with pytest.raises(ResultFolderError, match="give another folder"), RunFolder(place):
            pass

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, content):
            assert len(content) == files.NEEDED
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: Full())
    with (
        pytest.raises(ResultFolderError, match=r"cannot take results of 4 MB \(No space left"),
        locked(tmp_path),
    ):
        pass


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write folders that are read-only"
)
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ResultFolderError, match="Permission denied"), locked(tmp_path):
        pass
    tmp_path.chmod(0o700)


def test_a_file_in_a_folder_that_is_not_there_is_named_without_its_part(tmp_path):
    with pytest.raises(ResultFolderError, match=r"x.csv cannot be written, as .* no folder .*none: make"):
        write_text(tmp_path / "none" / "x.csv", "1")
    assert not (tmp_path / "none").exists()
