"""Suggestions for a wrong file name: files of the same folder with another ending or a similar name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from trajopt.base.errors import MOST_NEAR, OptionError, near_matches, near_names

MOST = 1000  # files of a folder that are looked at


def near_files(path: Path, endings: Collection[str]) -> str:
    """The end of a message that a file is not there: those of the same folder that may be meant.

    Same name, another ending first: ` (did you mean 'arm.py'?)` for arm.pyy.
    """
    folder = path if path.is_dir() else path.parent
    try:
        names = [each.name for each, _ in zip(sorted(folder.iterdir()), range(MOST), strict=False)]
    except OSError:
        return ""
    names = [name for name in names if Path(name).suffix in endings or _is_folder(folder / name, path)]
    same = [name for name in names if Path(name).stem == path.stem]
    meant = same or (names[:MOST_NEAR] if path.is_dir() else near_names(path.name, names))
    return f" (did you mean {' or '.join(repr(str(folder / name)) for name in meant)}?)" if meant else ""


def check_ending(path: Path, ending: str, what: str) -> None:
    """OptionError for a name whose ending is nearly the one that such files have; others are as wished."""
    if path.suffix != ending and near_matches(path.suffix, [ending]):
        raise OptionError(f"{path}: the name of {what} ends in {ending} (did you mean {path.stem}{ending}?)")


def _is_folder(entry: Path, sought: Path) -> bool:
    """True if an entry is a folder and may be meant: the name sought has no ending and is no folder."""
    return not sought.suffix and not sought.is_dir() and entry.is_dir()
