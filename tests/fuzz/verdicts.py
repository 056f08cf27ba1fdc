"""The end of a mutant, and the counts of many."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


class Verdict(enum.Enum):
    """The ways in which a mutant ends; the first two are as they should be."""

    TYPED = "typed error"
    RIGHT = "right answer"
    RAW = "raw exception"
    HUNG = "hung"
    WRONG = "silently wrong"

    @property
    def is_fault(self) -> bool:
        return self in (Verdict.RAW, Verdict.HUNG, Verdict.WRONG)


@dataclass(frozen=True)
class Judgement:
    """A verdict with the message of the error, or what the oracle found."""

    verdict: Verdict
    detail: str = ""


class Mismatch(Exception):
    """Raised by an oracle: the answer is not right, and nothing said so."""


class Told(Exception):
    """Raised by an oracle: the mutant was refused in words, as a user reads them."""


HEADINGS = {"typed": Verdict.TYPED, "right": Verdict.RIGHT, "raw": Verdict.RAW, "hung": Verdict.HUNG}


def table(counts: Mapping[str, Counter[Verdict]]) -> str:
    """One row per target and one for all: tried, typed, right, raw, hung, silently wrong."""
    columns = [*HEADINGS.values(), Verdict.WRONG]
    titles = ["tried", *HEADINGS, "silently wrong"]
    total: Counter[Verdict] = sum(counts.values(), Counter())
    lines = ["target".ljust(16) + "".join(title.rjust(max(9, len(title) + 2)) for title in titles)]
    for name, found in {**counts, "all": total}.items():
        numbers = [sum(found.values()), *(found[verdict] for verdict in columns)]
        cells = (str(n).rjust(max(9, len(t) + 2)) for n, t in zip(numbers, titles, strict=True))
        lines.append(name.ljust(16) + "".join(cells))
    return "\n".join(lines)
