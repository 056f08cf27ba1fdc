"""Many problems at a time: `python -m benchmarks.many [--moves N] [--points N] [--write]`.

Points: a sweep of so many small problems on a local Dask cluster of two workers, and on two processes of
trajopt's own, while five workers are killed at random moments; then the table must hold every point once.
"built" counts how often workers built a problem: what is above the number of points was on its way when its
worker died.

Moves: random moves of a UR5 in minimum time under all limits, 20 intervals, each from the straight line: by
`solve_many` on one process; by a program of `trajopt.compile`, whose poses are changed, with IPOPT and with
`InteriorPoint`; and by CasADi and IPOPT, whose program is built once too (`benchmarks/casadi_moves.py`;
constant accelerations, limits at both ends of every interval). Seconds are those of the processor, so that
other work on the machine counts little; all take turns, move by move. *Same*: objectives that differ from
those of the compiled program with IPOPT by 1e-8 relative at most; *better* and *worse*: other local optima.

--write : put the tables into docs/many.md
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import problems
import trajopt
from benchmarks.casadi_moves import mover
from benchmarks.robustness.cases import arm, moved_arm
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table_of_records
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import loaded_machine
from trajopt.studies.many.point import read_rows

WORKERS, KILLS, INTERVALS = 2, 5, 20
REFERENCE, PEER, SAME = "trajopt, compiled once", "CasADi and IPOPT, built once", 1e-8
PATIENT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "600s"}  # of workers that start on a busy machine
SEED = 2026


def build(mass: float = 1.0, notes: str = "") -> trajopt.Problem:
    """A mass moved by a metre; every time a worker builds it is noted in a file of its own."""
    if notes:
        with (Path(notes) / str(os.getpid())).open("a") as file:
            file.write(f"{mass!r}\n")
    return problems.double_integrator.build(mass=mass, intervals=4)


def points(count: int, on_dask: bool) -> dict[str, Any]:
    """A sweep while workers are killed, and what became of its points."""
    with tempfile.TemporaryDirectory() as place:
        notes, folder = Path(place) / "notes", Path(place) / "out"
        notes.mkdir()
        axes = {"mass": [1.0 + number / 100 for number in range(count)], "notes": [str(notes)]}
        settings: dict[str, Any] = {"warm": False, "folder": folder}
        began = time.perf_counter()
        with killed_workers(notes) as killed:
            if on_dask:
                from distributed import LocalCluster

                with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster:
                    cluster.adapt(minimum=WORKERS, maximum=WORKERS)  # anew where one could not be restarted
                    study = trajopt.sweep(build, axes, executor=cluster.scheduler_address, **settings)
            else:
                study = trajopt.sweep(build, axes, processes=WORKERS, **settings)
        seconds = time.perf_counter() - began
        rows = read_rows(folder / "table.csv")
        own = str(os.getpid())
        built = Counter(
            line for path in notes.iterdir() if path.name != own for line in path.read_text().splitlines()
        )
    numbers = Counter(row["number"] for row in rows)
    return {
        "workers": "Dask" if on_dask else "processes",
        "points": count,
        "killed": len(killed),
        "lost": count - len(numbers),
        "twice": sum(times - 1 for times in numbers.values()),
        "not converged": count - study.converged_count,
        "built": sum(built.values()),
        "seconds": round(seconds, 1),
    }


@contextmanager
def killed_workers(notes: Path) -> Iterator[list[int]]:
    """While the block runs, processes that have built a problem are killed, one after some hundred points."""
    killed: list[int] = []
    ended, chance = threading.Event(), random.Random(SEED)

    def work() -> None:
        done = 0
        while len(killed) < KILLS and not ended.wait(0.05):
            alive = [int(path.name) for path in notes.iterdir()]
            alive = [pid for pid in alive if pid != os.getpid() and pid not in killed]
            lines = sum(path.read_text().count("\n") for path in notes.iterdir())
            if alive and lines - done > 100:
                done, pid = lines, chance.choice(alive)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(pid)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def poses(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of a random move."""
    problem = moved_arm(INTERVALS, "ur5", seed, torque_alone=False)
    ends = {each.name: each.lower for each in problem.constraints}
    return ends["q at the start"], ends["q at the end"]


def moves(count: int) -> list[dict[str, Any]]:
    """Processor seconds per move and how many failed: ours, ours compiled once, and the peer's."""
    peer = mover(arm("ur5"), INTERVALS)
    compiled = trajopt.compile(moved_arm(INTERVALS, "ur5", count, torque_alone=False))

    def again(seed: int, solver: Any = None) -> float:
        first, last = poses(seed)
        return objective_of(compiled.solve(q_start=first, q_end=last, solver=solver))

    sides: dict[str, Callable[[int], float]] = {
        "trajopt, a list of problems": solved_one,
        REFERENCE: again,
        "trajopt, compiled once, dense": partial(again, solver=trajopt.InteriorPoint()),
        PEER: lambda seed: peer(*poses(seed)) or np.nan,
    }
    for solve in sides.values():
        solve(count)  # all are warm before anything is counted
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    objectives: dict[str, list[float]] = {name: [] for name in sides}
    for seed in range(count):
        for name, solve in sides.items():
            used, objective = timed(partial(solve, seed))
            seconds[name].append(used)
            objectives[name].append(objective)
    reference = np.array(objectives[REFERENCE])
    return [line_of(name, seconds[name], np.array(objectives[name]), reference) for name in sides]


def objective_of(solution: trajopt.Solution | None) -> float:
    """NaN where there is no optimum."""
    return solution.objective if solution is not None and solution.converged else np.nan


def solved_one(seed: int) -> float:
    """One move by the door that lists of problems take, in this process."""
    problem = moved_arm(INTERVALS, "ur5", seed, torque_alone=False)
    return objective_of(trajopt.solve_many([problem], processes=1).solutions[0])


def timed(call: Callable[[], float]) -> tuple[float, float]:
    """Processor seconds of a call, and what it returned."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def line_of(name: str, seconds: list[float], objectives: np.ndarray, reference: np.ndarray) -> dict[str, Any]:
    gap = objectives / reference - 1.0
    compared = {"same": np.abs(gap) <= SAME, "better": gap < -SAME, "worse": gap > SAME}
    return {
        "solver": name,
        "moves": len(seconds),
        "not converged": int(np.isnan(objectives).sum()),
        **{key: "" if name == PEER else int(found.sum()) for key, found in compared.items()},
        "median ms": round(1e3 * statistics.median(seconds), 1),
        "mean ms": round(1e3 * statistics.fmean(seconds), 1),
        "per core and second": round(len(seconds) / sum(seconds), 1),
    }


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--moves", type=int, default=1000)
    arguments.add_argument("--points", type=int, default=1000)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    points_count, moves_count = (3, 1) if given.smallest else (given.points, given.moves)
    os.environ.update(PATIENT)
    machine, parts = f"{loaded_machine()} at the start", {}
    if points_count:
        found = []
        for on_dask in (True, False):
            found.append(points(points_count, on_dask))
            print(found[-1], flush=True)
        parts["points"] = table_of_records(found)
    if moves_count:
        parts["moves"] = table_of_records(moves(moves_count))
        print(parts["moves"], flush=True)
    print(f"{machine}.")
    if given.write:
        with pages(given.smallest) as docs:
            for name, content in parts.items():
                put_between_marks(docs / "many.md", f"benchmarks.many {name}", content)


if __name__ == "__main__":
    main()
