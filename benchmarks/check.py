"""Alarm when we become slower than peers: `python -m benchmarks.check [--write] [--rows WORD]`.

Every row is a ratio of two times that were measured in turns in the same run, the peer's by ours: Pinocchio's
functions on three robots at 64 nodes, and CasADi's multiple shooting on the two-link arm. It is compared with
the ratio in `benchmarks/baseline.json`; seconds are never compared, as they are the machine's. A row whose
ratio has fallen by a fifth is measured again, twice, and only where the best of the three has fallen too it
is an alarm: its name is printed and the exit status is 1. Ratios depend on the processor (the width of its
SIMD lanes above all): on another one than the baseline's a note says so.

--write : write the baseline instead of comparing, all rows of it
--rows : only the rows whose name contains WORD
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.dynamics.calls import inputs, our_call
from benchmarks.dynamics.measurement import in_turns
from benchmarks.dynamics.pinocchio_peer import PEERS, peer_call, peer_of
from benchmarks.dynamics.robots import robots
from benchmarks.shared.timing import machine

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("baseline.json")
FALLEN = 0.2  # part of a ratio whose loss is an alarm
TRIES = 3  # measurements of a row that has fallen
ROBOTS, NODES = ("serial 7", "binary tree 20", "biped 20"), 64
INTERVALS, REPEATS, TURNS = 20, 10, 3

Rows = Mapping[str, Callable[[], float]]  # name of a row -> measures the ratio, peer's time by ours


@dataclass(frozen=True)
class Fallen:
    """A row whose ratio is too far below the baseline's."""

    name: str
    ratio: float
    before: float

    def __str__(self) -> str:
        part = 1.0 - self.ratio / self.before
        speed = f"{self.ratio:.3g} times the peer's speed, {self.before:.3g} before"
        return f"ALARM {self.name}: {speed} (-{part:.0%})"


def rows() -> dict[str, Callable[[], float]]:
    """All rows; none of them measures anything before it is called."""
    found: dict[str, Callable[[], float]] = {
        f"{function}, {robot}, by Pinocchio": partial(of_dynamics, robot, function)
        for robot in ROBOTS
        for function in PEERS
    }
    found["two-link arm in minimum time, 20 intervals, by CasADi multiple shooting"] = of_solves
    return found


def of_dynamics(robot: str, function: str) -> float:
    """Pinocchio's time by ours, the median over rounds in turns."""
    model = robots()[robot]
    arrays = inputs(model, NODES)
    theirs = peer_call(function, peer_of(model), arrays)
    assert theirs is not None
    rounds = in_turns([our_call(function, model, arrays), theirs])
    return statistics.median(times[1] / times[0] for times in rounds)


def of_solves() -> float:
    """The peer's time of a solve by ours, each in processes of its own, in turns."""
    found = []
    for _ in range(TURNS):
        ours = printed("-c", _OURS)
        theirs = printed("-m", "benchmarks.shared.peers", "casadi", str(INTERVALS), str(REPEATS))
        found.append(theirs / ours)
    return statistics.median(found)


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


def compared(measured: Rows, baseline: Mapping[str, float], tell: Callable[[str], object]) -> list[Fallen]:
    """Rows that have fallen by a fifth of the baseline's ratio, by the best of three measurements."""
    found = []
    for name, measure in measured.items():
        before, ratio = baseline.get(name), measure()
        if before is None:
            tell(f"{ratio:8.3f}  {name}: not in the baseline")
            continue
        for _ in range(TRIES - 1):
            if ratio < (1.0 - FALLEN) * before:
                ratio = max(ratio, measure())
        tell(f"{ratio:8.3f} ({before:.3f})  {name}")
        if ratio < (1.0 - FALLEN) * before:
            found.append(Fallen(name, ratio, before))
    return found


def missing(measured: Iterable[str], baseline: Iterable[str]) -> list[str]:
    """Rows of the baseline that nothing measures any more: a check that shrinks is no check."""
    return sorted(set(baseline) - set(measured))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--rows", default="", metavar="WORD")
    given = arguments.parse_args()
    if given.write and given.rows:
        arguments.error("--write writes all rows: leave out --rows")
    chosen = {name: measure for name, measure in rows().items() if given.rows in name}
    if given.write:
        ratios = {name: round(measure(), 4) for name, measure in chosen.items()}
        record = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "ratios": ratios}
        BASELINE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return 0
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    if machine() != baseline["machine"]:
        print(f"the baseline is of another machine: {baseline['machine']}; this is {machine()}")
    lost = [] if given.rows else missing(chosen, baseline["ratios"])
    fallen = compared(chosen, baseline["ratios"], partial(print, flush=True))
    for alarm in (*(f"ALARM {name}: in the baseline, but not measured" for name in lost), *fallen):
        print(alarm)
    return int(bool(lost or fallen))


if __name__ == "__main__":
    sys.exit(main())
