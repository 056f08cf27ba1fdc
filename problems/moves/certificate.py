"""Evidence on a motion's limits: proved for all times, or sampled, with the largest excess of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trajopt.base.errors import printable

TOLERANCE = 1e-6  # of a limit: a larger excess is a violation


@dataclass(frozen=True)
class LimitLine:
    """One kind of limit over the whole motion.

    name : "speed", "acceleration", "torque", "position", say
    evidence : "proved", an upper bound for all times; "sampled", the largest value met at `samples` times
    excess : of the limit, below zero where there is room; joint, time : where, s
    note : what else belongs to it: of clearances, which pairs are checked and which are left out
    """

    name: str
    evidence: Literal["proved", "sampled"]
    excess: float
    joint: str
    time: float
    samples: int = 0
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if the excess is at most `TOLERANCE`; not of NaN."""
        return self.excess <= TOLERANCE

    def __str__(self) -> str:
        how = self.evidence if self.evidence == "proved" else f"sampled at {self.samples} times"
        note = f"; {self.note}" if self.note else ""
        return f"{self.name}: excess {self.excess + 0.0:+.1e}, {self.joint} at {self.time:.4f} s, {how}{note}"


def largest(lines: Sequence[LimitLine]) -> LimitLine:
    """The line of the largest excess, NaN above all: one that is not known is not lost among others."""
    return lines[int(np.argmax([line.excess for line in lines]))]


@dataclass(frozen=True)
class MotionCertificate:
    """The limits of a motion, a line each; `str` prints them."""

    lines: tuple[LimitLine, ...]

    @property
    def holds(self) -> bool:
        """True if every limit holds within `TOLERANCE` of it, by what evidence each line says."""
        return all(line.holds for line in self.lines)

    @property
    def excess(self) -> float:
        """The largest excess of any limit, relative to it."""
        return largest(self.lines).excess

    def __getitem__(self, name: str) -> LimitLine:
        """The line of a name, of several the one with the largest excess; KeyError where there is none."""
        named = [line for line in self.lines if line.name == name]
        if not named:
            raise KeyError(name)
        return largest(named)

    def __str__(self) -> str:
        verdict = "every limit holds within" if self.holds else "a limit is exceeded by more than"
        sampled = [line.name for line in self.lines if line.evidence == "sampled"]
        known = f"; {', '.join(sampled)} at samples alone" if sampled else ", proved for all times"
        head = f"{verdict} {TOLERANCE:g} of it{known} (excess: relative to the limit, below zero within it)"
        return printable("\n".join([head, *map(str, self.lines)]))
