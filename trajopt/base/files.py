"""Files: untrusted .npz files read, whole files and folders of results written, wrong names of files.

Of untrusted .npz files names, kinds and sizes are checked before any content is read. An .npz file is a ZIP
archive of .npy members. Its directory holds the name and the unpacked size of every member, and the first
bytes of a member hold kind and shape of its array. Only members that the reader asks for are unpacked, each
once all three agree with what is expected of it, and together up to `LARGEST` bytes. No pickle is ever read:
arrays of numbers and texts are all there is.

For a wrong file name files of the same folder with another ending or a similar name are suggested. Files are
written atomically: readers see the old content or the new, never a part. Values in JSON and tables are finite
numbers, words for infinities, and lists for tuples.

A folder of results is written by one run at a time, so that its files always belong together. A run makes its
files in a hidden folder within, and publishes them when it is done: each is moved into its place, those of
the former run that have no successor are removed, and `solution.npz` is replaced last. The manifest
`run.json` lists the run's files, by SHA-256 digest: a file that the user made or changed is never removed.
Killed at any moment, a run leaves the former `solution.npz` or the new one, and `mixture` reports files
beside it that are of another run.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import filelock
import msgspec
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from trajopt.base.arguments import shorten
from trajopt.base.errors import (
    MOST_NEAR,
    OptionError,
    ResultFolderError,
    SolutionFileError,
    near_matches,
    near_names,
    warn_user,
)


def near_files(path: Path, endings: Collection[str]) -> str:
    """The end of a message that a file is not there: those of the same folder that may be meant.

    Same name, another ending first: ` (did you mean 'arm.py'?)` for arm.pyy.
    """
    folder = path if path.is_dir() else path.parent
    try:
        # The first thousand files of a folder are looked at
        names = [each.name for each, _ in zip(sorted(folder.iterdir()), range(1000), strict=False)]
    except OSError:
        return ""
    may_be_folder = not path.suffix and not path.is_dir()
    folders = {name for name in names if may_be_folder and (folder / name).is_dir()}
    names = [name for name in names if Path(name).suffix in endings or name in folders]
    same = [name for name in names if Path(name).stem == path.stem]
    meant = same or (names[:MOST_NEAR] if path.is_dir() else near_names(path.name, names))
    return f" (did you mean {' or '.join(repr(str(folder / name)) for name in meant)}?)" if meant else ""


def check_ending(path: Path, ending: str, what: str) -> None:
    """OptionError for a name whose ending is nearly the one that such files have; others are as wished."""
    if path.suffix != ending and near_matches(path.suffix, [ending]):
        raise OptionError(f"{path}: the name of {what} ends in {ending} (did you mean {path.stem}{ending}?)")


ENDINGS = (".npz",)  # of the files that may be meant
LARGEST = 2**28  # bytes that a file may unpack to; the largest gait of the tests saves 3 MB
NUMBERS, WHOLE, TEXT = "fiu", "iu", "U"  # kinds of dtypes

T = TypeVar("T")


def file_path(path: str | os.PathLike[str]) -> Path:
    """A path that can name a file; OptionError for what is none, or is empty."""
    advice = "give the name of a file, such as 'solution.npz'"
    try:
        text = os.fspath(path)
    except TypeError:
        raise OptionError(f"the path is an object of type {type(path).__name__}: {advice}") from None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise OptionError(f"the path is {text[:80]!r}: {advice}")
    return Path(text)


@dataclass(frozen=True)
class Member:
    """An array in the file that is not unpacked yet: its kind and shape, from its first bytes."""

    entry: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool
    start: int

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


class ArrayFile:
    """An open .npz file; every complaint is a SolutionFileError that names the file.

    what : what the file should be, "solution"
    advice : what to do about a file that is none
    """

    def __init__(self, path: str | os.PathLike[str], what: str, advice: str) -> None:
        self.path, self.what, self.advice = file_path(path), what, advice
        self._unpacked = [0]  # bytes so far, in one count with all parts
        self._archive, self._entries = self._opened()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def part(self, prefix: str) -> ArrayFile:
        """The members whose names begin with `prefix`, by the rest of their names, as an open file."""
        other = copy.copy(self)
        named = {name: entry for name, entry in self._entries.items() if name.startswith(prefix)}
        other._entries = {name.removeprefix(prefix): entry for name, entry in named.items()}
        return other

    def refuse(self, problem: str, cause: BaseException | None = None) -> NoReturn:
        """SolutionFileError: the file is not what it should be."""
        raise SolutionFileError(
            f"{self.path} is not a {self.what} that trajopt saved ({problem}): {self.advice}"
        ) from cause

    def record(self, kind: type[T], name: str = "header") -> T:
        """A member of JSON text as a value of a dataclass, checked against its annotations."""
        return self.converted(self.json(name), kind, name)

    def converted(self, value: object, kind: type[T], name: str) -> T:
        """JSON values as a value of a dataclass; a key that it does not know is of a later version."""
        try:
            return msgspec.convert(value, kind)
        except (msgspec.ValidationError, OverflowError, UnicodeError) as error:
            self.refuse(f"{name}: {error}", error)

    def json(self, name: str) -> dict[str, Any]:
        """A member that holds the text of a JSON object."""
        member = self._member(name, TEXT, ())
        try:
            text = str(self._content(member)[()])
            text.encode().decode()  # an array of text may hold numbers that are no characters
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            self.refuse(f"{name} holds no JSON: {error}", error)
        if not isinstance(found, dict):
            self.refuse(f"{name} holds {type(found).__name__} instead of a JSON object")
        return found

    def numbers(self, name: str, shape: Sequence[int | None], *, finite: bool = True) -> NDArray[np.float64]:
        """An array of real numbers; None in `shape` takes any length."""
        content = self._content(self._member(name, NUMBERS, shape)).astype(float)
        if finite and not np.all(np.isfinite(content)):
            self.refuse(f"{name} holds {content[~np.isfinite(content)][0]}, expected finite numbers")
        return content

    def whole_numbers(self, name: str, shape: Sequence[int | None]) -> NDArray[np.int64]:
        """An array of whole numbers; None in `shape` takes any length."""
        return self._content(self._member(name, WHOLE, shape)).astype(np.int64)

    # -- the archive ----------------------------------------------------------------------------------------

    def _opened(self) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
        if not self.path.exists():
            near = near_files(self.path, ENDINGS)
            raise SolutionFileError(f"{self.path} does not exist{near}: give the path of a {self.what}")
        if not self.path.is_file():
            self.refuse("it is a folder or a device")
        try:
            with self.path.open("rb") as stream:
                start = stream.read(len(npy.MAGIC_PREFIX))
            if start == npy.MAGIC_PREFIX:
                self.refuse("it holds one array")
            archive = zipfile.ZipFile(self.path)
        except SolutionFileError:
            raise
        except Exception as error:  # zipfile raises whatever its parser meets
            self.refuse(_in_words(error), error)
        entries: dict[str, zipfile.ZipInfo] = {}
        for entry in archive.infolist():
            entries.setdefault(entry.filename.removesuffix(".npy"), entry)
        # A solution of a thousand arcs has as many members
        if len(archive.infolist()) > min(4096, len(entries)):
            archive.close()
            self.refuse(f"{len(archive.infolist())} members, {len(entries)} names")
        return archive, entries

    def _member(self, name: str, kinds: str, shape: Sequence[int | None]) -> Member:
        """The description of a member from directory and first bytes, of the expected kind and shape."""
        if name not in self._entries:
            self.refuse(f"it holds no '{name}'")
        entry = self._entries[name]
        try:
            with self._archive.open(entry) as stream:
                member = _described(entry, stream)  # type: ignore[arg-type]
        except Exception as error:  # zipfile, zlib and NumPy's parser raise whatever they meet
            self.refuse(f"{name}: {_in_words(error)}", error)
        if member.dtype.hasobject:
            self.refuse(f"it is no .npz archive of plain arrays, {name} holds Python objects")
        if member.dtype.kind not in kinds:
            self.refuse(f"{name} is an array of {member.dtype}, expected {_KINDS[kinds]}")
        fits = len(member.shape) == len(shape) and all(
            expected in (None, found) for found, expected in zip(member.shape, shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if n is None else str(n) for n in shape)
            self.refuse(f"{name} has shape {member.shape}, expected ({expected})")
        if entry.file_size != member.start + member.size:
            self.refuse(f"{name} unpacks to {entry.file_size} bytes, its shape needs {member.size}")
        as_floats = math.prod(member.shape) * np.dtype(float).itemsize  # what small whole numbers become
        size = max(entry.file_size, as_floats)
        self._unpacked[0] += size
        if self._unpacked[0] > LARGEST:
            self.refuse(f"{name} unpacks to {size:.3g} bytes, {LARGEST:.3g} are read at most")
        return member

    def _content(self, member: Member) -> NDArray[Any]:
        try:
            with self._archive.open(member.entry) as stream:
                data = stream.read()
        except Exception as error:
            self.refuse(f"{member.entry.filename}: {_in_words(error)}", error)
        array = np.frombuffer(data, member.dtype, offset=member.start)  # read-only: converting it copies
        return array.reshape(member.shape, order="F" if member.fortran else "C")


_KINDS = {NUMBERS: "real numbers", WHOLE: "whole numbers", TEXT: "text"}


def _described(entry: zipfile.ZipInfo, stream: BinaryIO) -> Member:
    version = npy.read_magic(stream)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"format {version} of an array is not known")
    shape, fortran, dtype = read(stream)
    if any(type(n) is not int or n < 0 for n in shape):  # True is an int to NumPy, and no length
        raise ValueError(f"shape {shape}")
    return Member(entry, shape, dtype, fortran, stream.tell())


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(str(error))}"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream for the new content of a file: whatever happens, others see the old content or the new."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ResultFolderError(
            f"{target} cannot be written, as there is no folder {target.parent}: make it first"
        )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that nobody else may read
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all; lone surrogates read as \\ud800."""
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8", errors="backslashreplace"))


def finite(value: float | None) -> float | None:
    """A number as a float; None where it is unknown or not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def words(value: object) -> object:
    """`value` with infinities as words and tuples as lists."""
    if isinstance(value, Mapping):
        return {key: words(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [words(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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
            if (self.stage / LAST).exists():  # a solution of a killed run
                kept = self.folder / f"killed-run-{uuid.uuid4().hex[:8]}"
                os.replace(self.stage, kept)
                warn_user(f"an earlier run was killed after its solve: its files are in {kept}")
            shutil.rmtree(self.stage, ignore_errors=True)
            self.stage.mkdir()
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
