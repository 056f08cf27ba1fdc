"""Progress of a study with an estimate of the remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Literal

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.studies.many.point import StudyPoint

EVERY = 1.0  # seconds between lines that report no failure


@dataclass(frozen=True)
class StudyProgress:
    """A point that was just done, how many of all are, and the seconds that the others will take.

    seconds_left : from the rate of the later half of what was done, by wall clock; None before the second one
    """

    point: StudyPoint
    done: int
    total: int
    seconds_left: float | None

    def __str__(self) -> str:
        if self.done == self.total:
            return f"{self.done} of {self.total}"
        left = "" if self.seconds_left is None else f", about {duration_in_words(self.seconds_left)} left"
        return f"{self.done} of {self.total}{left}"


Report = Callable[[StudyProgress], None]


class Meter:
    """Counts points of a study as they are done.

    known : how many were done before; they do not count for the rate
    """

    def __init__(self, total: int, known: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._done, self._clock = total, known, clock
        self._times = [clock()]

    def counted(self, point: StudyPoint) -> StudyProgress:
        self._done += 1
        self._times.append(self._clock())
        left, count = None, len(self._times)
        if count > 2 or self._done == self._total:
            recent = self._times[(count - 1) // 2 :]  # the first points also start processes and load kernels
            left = (self._total - self._done) * (recent[-1] - recent[0]) / (len(recent) - 1)
        return StudyProgress(point, self._done, self._total, left)


class Lines:
    """Writes a line for a point at most once a second, for every failure, and for the last one."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._last = -EVERY

    def __call__(self, progress: StudyProgress) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY or progress.point.error or progress.done == progress.total:
            self._last = now
            print(f"{progress.point}  [{progress}]", file=self._stream, flush=True)


def report_of(progress: Literal["auto", "silent"] | Report) -> Report:
    """The function that is called with every point; OptionError for another word."""
    if callable(progress) and not isinstance(progress, type):
        return progress
    if progress == "auto":
        return Lines()
    if progress == "silent":
        return lambda _: None
    raise OptionError(f"progress is {short_repr(progress)}: use 'auto', 'silent' or a function")


def duration_in_words(seconds: float) -> str:
    """12 s, 4 min, 2 h 5 min: as exact as an estimate is."""
    if seconds < 90.0:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
