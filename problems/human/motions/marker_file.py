"""Measured places of markers over time, from a .trc file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from problems.human.motions.motion_file import LENGTHS, UNITS, check_times
from problems.human.opensim.storage import check_row_count, text_of
from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError, warn_user

HEADER_LINES = 5  # file type, names and values of the rate and counts, markers, axes


@dataclass(frozen=True, eq=False)
class Markers:
    """Places of markers: time (K,) s, and (K, 3) m by marker, NaN where it was not seen."""

    time: np.ndarray
    places: Mapping[str, np.ndarray]

    def around(self, start: float, end: float) -> Markers:
        """The rows from the last one up to `start` s to the first one from `end` s on."""
        first = max(int(np.searchsorted(self.time, start, side="right")) - 1, 0)
        rows = slice(first, int(np.searchsorted(self.time, end)) + 1)
        return Markers(self.time[rows], {name: x[rows] for name, x in self.places.items()})

    @property
    def gaps(self) -> dict[str, int]:
        """Marker -> rows in which it was not seen, for those that have any."""
        counts = {name: int(np.isnan(x[:, 0]).sum()) for name, x in self.places.items()}
        return {name: count for name, count in counts.items() if count}


def read_markers(path: str | os.PathLike[str]) -> Markers:
    """Read a .trc file: lengths in m, whatever unit the header names, in the axes of the file.

    Raises ProblemError, with the line where there is one, for a header without unit or markers, rows that are
    too long, text, another number of markers than the header's, times that do not increase, missing rows and
    a file that ends within one. Another number of whole rows than the header's is a warning. Places 0, 0, 0,
    which some systems write for a marker that they lost, are gaps, with a warning.
    """
    file = Path(path)
    if not file.is_file():
        raise ProblemError(f"there is no file '{file}': give the path of a .trc")
    text = text_of(file)
    lines = text.splitlines()
    if len(lines) < HEADER_LINES + 1 or not lines[0].startswith("PathFileType"):
        raise ProblemError(
            f"{file} does not begin with 'PathFileType' and five lines of header: it is no .trc"
        )
    entries = dict(zip(lines[1].split(), lines[2].split(), strict=False))
    names = [cell.strip() for cell in lines[3].split("\t")[2:] if cell.strip()]
    factor = _factor(entries, file)
    rows = [(i, line) for i, line in enumerate(lines[HEADER_LINES:], HEADER_LINES + 1) if line.strip()]
    if not names or len(set(names)) < len(names):
        raise ProblemError(f"{file}, line 4 has the markers {names}: give at least one, and each name once")
    values = np.array([_row(line, 2 + 3 * len(names), file, i) for i, line in rows])
    values = values.reshape(-1, 2 + 3 * len(names))
    markers = entries.get("NumMarkers", str(len(names)))
    if markers != str(len(names)):
        raise ProblemError(
            f"{file} has {len(names)} as NumMarkers, but its header says {markers}: correct it"
        )
    whole = not rows or len(rows[-1][1].split("\t")) >= values.shape[1]
    check_row_count(file, text, "NumFrames", entries.get("NumFrames"), len(rows), whole)
    check_times(values[:, 1], file, HEADER_LINES if not rows else rows[0][0] - 1)
    places = factor * values[:, 2:].reshape(len(rows), len(names), 3)
    lost = (places == 0.0).all(axis=2)  # no marker is there to all digits
    if lost.any():
        found = [f"{name} in {lost[:, i].sum()} rows" for i, name in enumerate(names) if lost[:, i].any()]
        warn_user(f"{file}: places 0, 0, 0 are taken as gaps: {list_names(found)}")
        places[lost] = np.nan
    return Markers(values[:, 1], {name: places[:, i] for i, name in enumerate(names)})


def _factor(entries: Mapping[str, str], file: Path) -> float:
    unit = entries.get("Units", "")
    if unit.lower() not in LENGTHS:
        raise ProblemError(f"{file}, line 3 has the unit '{unit}' of length: write {', '.join(LENGTHS)}")
    return UNITS[unit.lower()]


def _row(line: str, count: int, file: Path, number: int) -> list[float]:
    """Frame, time and places of a line, NaN for markers of which a cell is empty."""
    cells = line.split("\t")
    while len(cells) > count and not cells[-1].strip():
        cells.pop()
    if len(cells) > count:
        raise ProblemError(f"{file}, line {number} has {len(cells)} numbers: {count} are expected")
    try:
        found = [float(cell) if cell.strip() else np.nan for cell in cells]
    except ValueError as error:
        raise ProblemError(f"{file}, line {number}: {error}: give numbers, or leave the cell empty") from None
    found += [np.nan] * (count - len(found))
    if not np.isfinite(found[1]) or np.isinf(found).any():
        raise ProblemError(f"{file}, line {number} has no time, or an infinite number: correct it")
    places = np.reshape(found[2:], (-1, 3))
    places[np.isnan(places).any(axis=1)] = np.nan
    return [*found[:2], *places.ravel().tolist()]
