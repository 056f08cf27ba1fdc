"""A folder of results that one run at a time writes, so that its files always belong together.

A run makes its files in a hidden folder within, and publishes them when it is done: each is moved into its
place, those of the former run that have no successor are removed, and `solution.npz` is replaced last. The
manifest `run.json` lists the run's files, by SHA-256 digest: a file that the user made or changed
is never removed. Killed at any moment, a run leaves the former `solution.npz` or the new one, and
`mixture` reports files beside it that are of another run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import filelock
import msgspec

from trajopt.base.arguments import shorten
from trajopt.base.errors import ResultFolderError, warn_user
from trajopt.base.files.atomic_file import write_text

MANIFEST, LOCK, STAGE = "run.json", ".trajopt.lock", ".unfinished"
LAST = "solution.npz"
NEEDED = 2**22  # bytes that must be free before a solve: solution, figures and pages of a long gait
LARGEST_MANIFEST = 2**20


@dataclass(frozen=True)
class Manifest:
    """The files of a run: name -> digests; two where a run was killed while it replaced another's file."""

    run: str = ""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class RunFolder:
    """A folder that is locked, writable and has room: `with RunFolder(folder) as run`.

    stage : where the run makes its files before `publish` moves them
    Raises ResultFolderError where another process writes it, where it cannot be written or has no room.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.stage = folder, folder / STAGE
        self._locked = ExitStack()

    def __enter__(self) -> RunFolder:
        self._locked.enter_context(locked(self.folder))
        try:
            self._begin()
        except BaseException:
            self._locked.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.stage.is_dir() and not (self.stage / LAST).exists():
            shutil.rmtree(self.stage, ignore_errors=True)
        self._locked.close()

    def publish(self, run: str) -> list[str]:
        """Move all files into their place, the solution last, and give their names.

        ResultFolderError where that fails; it names the place where the files are.
        """
        advice = f"the files of the run are in {self.stage}, the next run here keeps them"
        with refused(f"{self.folder} cannot be written", advice):
            names, new, former = self._made()
            both = {name: (*former.files.get(name, ()), *new.get(name, ())) for name in {*former.files, *new}}
            self._write(Manifest(run, both))  # killed from here on, the next run knows all that may be there
            for name in names:
                if name == LAST:
                    self._remove(former, keep=names)
                    self._write(Manifest(run, new))
                os.replace(self.stage / name, self.folder / name)
            self.stage.rmdir()
        return names

    def _made(self) -> tuple[list[str], dict[str, tuple[str, ...]], Manifest]:
        """The files in the stage, the solution last, their digests, and the former run's manifest."""
        names = sorted((path.name for path in self.stage.iterdir()), key=lambda name: (name == LAST, name))
        return names, {name: (digest(self.stage / name),) for name in names}, manifest(self.folder)

    def add(self, run: str) -> list[str]:
        """Move files of the run whose solution is here, such as figures, beside those that it has already."""
        names, new, former = self._made()
        if former.run == run and former.files:
            self._write(Manifest(run, {**former.files, **new}))
        for name in names:
            os.replace(self.stage / name, self.folder / name)
        return names

    def _begin(self) -> None:
        """An empty stage; what a killed run left there is kept where it holds a solution."""
        if (self.stage / LAST).exists():
            kept = self.folder / f"killed-run-{uuid.uuid4().hex[:8]}"
            os.replace(self.stage, kept)
            warn_user(f"an earlier run was killed after its solve: its files are in {kept}")
        shutil.rmtree(self.stage, ignore_errors=True)
        self.stage.mkdir()

    def _remove(self, former: Manifest, keep: list[str]) -> None:
        for name, digests in former.files.items():
            path = self.folder / name
            if name not in keep and path.is_file() and digest(path) in digests:
                path.unlink()

    def _write(self, content: Manifest) -> None:
        text = json.dumps(msgspec.to_builtins(content), indent=1, sort_keys=True)
        write_text(self.folder / MANIFEST, text)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A folder, made where it is not there, that no other process writes meanwhile, and that has room."""
    with refused(f"{shorten(str(folder))} cannot be made", "give another folder"):
        folder.mkdir(parents=True, exist_ok=True)
    lock = _acquired(folder)
    try:
        check_room(folder)
        yield
    finally:
        with suppress(OSError):  # Windows removes it itself
            (folder / LOCK).unlink()
        lock.release()


def _acquired(folder: Path) -> filelock.BaseFileLock:
    """The lock of a folder; a file that its owner removed meanwhile locks nothing and is made anew."""
    while True:
        lock = filelock.FileLock(folder / LOCK, timeout=0)
        try:
            with refused(f"{folder} cannot be written by one process alone", "give another folder"):
                lock.acquire()
        except filelock.Timeout:
            raise ResultFolderError(
                f"another process writes its results to {folder}: wait for it, or give another folder"
            ) from None
        if (folder / LOCK).exists():
            return lock
        lock.release()


def check_room(folder: Path) -> None:
    """ResultFolderError where files of `NEEDED` bytes cannot be written; better before a solve than after."""
    what, advice = f"{folder} cannot take results of {NEEDED >> 20} MB", "make room, or give another folder"
    with refused(what, advice), tempfile.TemporaryFile(dir=folder) as stream:
        stream.write(bytes(NEEDED))


@contextmanager
def refused(what: str, advice: str) -> Iterator[None]:
    """ResultFolderError with the reason in the place of the system's errors, but for a lock that is held."""
    try:
        yield
    except filelock.Timeout:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultFolderError(f"{what} ({reason}): {advice}") from error


def manifest(folder: Path) -> Manifest:
    """The manifest of the last run in a folder; empty where there is none that can be read."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            return Manifest()
        found = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Manifest)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return Manifest()
    return Manifest(found.run, {name: file for name, file in found.files.items() if _is_inside(name)})


def _is_inside(name: str) -> bool:
    """True if a name is that of a file in the folder itself: nothing outside may ever be removed."""
    return name not in ("", ".", "..") and not any(mark in name for mark in "/\\:\0")


def mixture(folder: Path, run: str) -> Iterator[str]:
    """Descriptions of files in a folder that do not belong to the run of its solution."""
    known = manifest(folder)
    if not known.files:
        return
    if known.run != run:
        own = run[:8] or "one without a name"
        yield f"the files beside {LAST} are of another run ({known.run[:8]}, not {own})"
        return
    for name, digests in known.files.items():
        path = folder / name
        if path.is_file() and digest(path) not in digests:
            yield f"{name} was changed since the run wrote it"


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
