"""Alarm when we become slower than peers: `python -m benchmarks.check [--write] [--rows WORD]`.

Every row is a ratio of two times that were measured in turns in the same run, the other's by ours: of
Pinocchio's functions on three robots at 64 nodes, of CasADi's multiple shooting on the two-link arm and its
collocation by hand, and of the bare compiled loops of a robot beside evaluations, transcription and solves
that are made of them. It is compared with the median of the runs of this processor in
`benchmarks/results.jsonl`, or, before its first one, of the processor of the newest run, which a note says:
ratios depend on the width of SIMD lanes above all. Seconds are never compared, as they are the machine's. A
row whose ratio is more than a tenth lower is measured again, up to four times, and only where the best of all
is too low it is an alarm: its name is printed and the exit status is 1. `python -m benchmarks.trend` shows
all runs.

--write : add this run to the results
--rows : only the rows whose name contains WORD
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import systems
from benchmarks.dynamics.calls import inputs, our_call
from benchmarks.dynamics.measurement import in_turns
from benchmarks.dynamics.pinocchio_peer import PEERS, peer_call, peer_of
from benchmarks.dynamics.robots import robots
from benchmarks.shared import history
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import processor
from benchmarks.solvers.replan import CASES
from benchmarks.solvers.stages import LOOPS, stages

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 40
TRIES = 5  # measurements of a row that has fallen
ROBOTS, NODES = ("serial 7", "binary tree 20", "biped 20"), 64
INTERVALS, REPEATS, TURNS = 20, 10, 3
MADE_OF_LOOPS = ("all functions at a point", "dense solve", "IPOPT's solve", "construction and transcription")
SMALLEST = "rnea, serial 7"  # a word of its rows
OSCILLATOR = (40, 3)  # intervals, points

Rows = Mapping[str, Callable[[], float]]  # name of a row -> measures the ratio, peer's time by ours


@dataclass(frozen=True)
class Fallen:
    """A row whose ratio is too far below the baseline's."""

    name: str
    ratio: float
    before: float

    def __str__(self) -> str:
        part = 1.0 - self.ratio / self.before
        speed = f"{self.ratio:.3g} times the other's speed, {self.before:.3g} before"
        return f"ALARM {self.name}: {speed} (-{part:.0%})"


@dataclass(frozen=True)
class Compared:
    """Ratios of a run, and those that are too low."""

    ratios: Mapping[str, float]
    fallen: Sequence[Fallen]


def rows() -> dict[str, Callable[[], float]]:
    """All rows; none of them measures anything before it is called."""
    found: dict[str, Callable[[], float]] = {
        f"{function}, {robot}, by Pinocchio": partial(of_dynamics, robot, function)
        for robot in ROBOTS
        for function in PEERS
    }
    found["two-link arm in minimum time, 20 intervals, by CasADi multiple shooting"] = of_solves
    found["Rayleigh oscillator on 40 intervals of 3 points, by CasADi by hand"] = of_collocation
    for case in CASES:
        for stage in MADE_OF_LOOPS:
            found[f"{stage}, {case}, by the compiled loops"] = partial(of_stages, case, stage)
    return found


def of_dynamics(robot: str, function: str) -> float:
    """Pinocchio's time by ours."""
    model = robots()[robot]
    arrays = inputs(model, NODES)
    theirs = peer_call(function, peer_of(model), arrays)
    assert theirs is not None
    return by_least(our_call(function, model, arrays), theirs)


def of_solves() -> float:
    """The peer's time of a solve by ours, each in processes of its own, in turns."""
    found = []
    for _ in range(TURNS):
        ours = printed("-c", _OURS)
        theirs = printed("-m", "benchmarks.shared.peers", "casadi", str(INTERVALS), str(REPEATS))
        found.append(theirs / ours)
    return statistics.median(found)


def of_collocation() -> float:
    """The time of a solve that is written by hand by ours, construction included."""
    pairs = [(systems.ours(*OSCILLATOR), systems.by_hand(*OSCILLATOR)) for _ in range(TURNS + 1)]
    return statistics.median(theirs.seconds / ours.seconds for ours, theirs in pairs[1:])


def of_stages(case: str, stage: str) -> float:
    """The time of the compiled loops at a point by that of a stage of a solve."""
    runs = stages(case)
    return by_least(runs[stage], runs[LOOPS])


def by_least(ours: Callable[[], object], other: Callable[[], object]) -> float:
    """The other's least time by ours over rounds in turns: other work on the machine only adds to both."""
    mine, theirs = (min(times) for times in zip(*in_turns([ours, other], ROUNDS), strict=True))
    return theirs / mine


_OURS = f"""
import json, statistics, time, problems, trajopt
def solved():
    began = time.perf_counter()
    trajopt.solve(problems.two_link_rr.build(intervals={INTERVALS}), starts=1)
    return time.perf_counter() - began
solved()
print(json.dumps(dict(seconds=statistics.median(solved() for _ in range({REPEATS})))))
"""


def printed(*arguments: str) -> float:
    """The seconds that a process of Python prints as JSON in its last line."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])


def compared(measured: Rows, before: Mapping[str, float], tell: Callable[[str], object]) -> Compared:
    """All ratios, the best of up to five where one is more than a tenth below `before`, and what stays so."""
    ratios, fallen = {}, []
    for name, measure in measured.items():
        least = (1.0 - history.SLOWER) * before.get(name, 0.0)
        ratio = measure()
        for _ in range(TRIES - 1):
            if ratio < least:
                ratio = max(ratio, measure())
        ratios[name] = ratio
        tell(
            f"{ratio:8.3f} ({before[name]:.3f})  {name}" if name in before else f"{ratio:8.3f} (new)  {name}"
        )
        if ratio < least:
            fallen.append(Fallen(name, ratio, before[name]))
    return Compared(ratios, fallen)


def known_ratios(results: Sequence[history.Result], here: str) -> dict[str, float]:
    """Row -> the median of its runs on one processor."""
    return {each.row: statistics.median(each.ratios) for each in history.trends(results, here)}


def missing(measured: Iterable[str], known: Iterable[str]) -> list[str]:
    """Rows of the results that nothing measures any more: a check that shrinks is no check."""
    return sorted(set(known) - set(measured))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--rows", default="", metavar="WORD")
    given = arguments.parse_args()
    word = SMALLEST if given.smallest else given.rows
    chosen = {name: measure for name, measure in rows().items() if word in name}
    results, here = history.read(history.RESULTS), processor()
    if here not in {each.processor for each in results} and results:
        print(f"no results of this processor, {here}: compared with {results[-1].processor}")
        here = results[-1].processor
    before = known_ratios(results, here)
    found = compared(chosen, before, partial(print, flush=True))
    if given.write and not given.smallest:
        history.add(history.now(found.ratios), history.RESULTS)
    lost = [] if word else missing(chosen, {each.row for each in results})
    for alarm in (*(f"ALARM {name}: in the results, but not measured" for name in lost), *found.fallen):
        print(alarm)
    return int(bool(lost or found.fallen)) if not given.smallest else 0


if __name__ == "__main__":
    sys.exit(main())
