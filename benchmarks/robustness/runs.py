"""Solves every case on its meshes from its starts, in several processes, and keeps a record of each solve."""

from __future__ import annotations

import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from benchmarks.robustness.cases import Case, arm_cases, problem_cases
from benchmarks.shared.timing import commit
from trajopt.refinement.guess_search import perturbed

LIMIT = 120.0  # seconds of one solve; a solve takes a tenth of it on a machine without other work
SPREAD = 0.3
FULL = {"meshes": (10, 15, 20, 30, 40, 80), "starts": 8, "arm meshes": (20, 40), "pairs": 60}
QUICK = {"meshes": (20, 40), "starts": 3, "arm meshes": (40,), "pairs": 10}
SMALLEST = {"problems": 1, "meshes": (10,), "starts": 2, "arm meshes": (10,), "pairs": 0}
STARTS: dict[str, dict[str, Any]] = {"default": {}, "one start": {"starts": 1}, "starts=8": {"starts": 8}}


def cases(size: dict[str, Any]) -> list[tuple[str, int, int]]:
    """(name, mesh, number of starts) of everything that is solved."""
    problems = problem_cases()[: size.get("problems")]
    found = [(case.name, mesh, size["starts"]) for case in problems for mesh in size["meshes"]]
    arms = arm_cases(size["pairs"])
    found += [(case.name, mesh, 1) for case in arms for mesh in size["arm meshes"]]
    return found


def case_of(name: str) -> Case:
    return next(case for case in (*problem_cases(), *arm_cases(FULL["pairs"])) if case.name == name)


def solved_case(name: str, mesh: int, starts: int) -> list[dict[str, Any]]:
    """The record of every solve of a problem on one mesh."""
    case = case_of(name)
    rows = [row(case, mesh, start, 0, options) for start, options in STARTS.items()]
    return rows + [row(case, mesh, "perturbed", number, {}) for number in range(1, starts)]


def row(case: Case, mesh: int, start: str, number: int, options: dict[str, Any]) -> dict[str, Any]:
    """One solve, as a record; what it raises counts as not converged."""
    known = {"case": case.name, "group": case.group, "mesh": mesh, "start": start, "number": number}
    known["commit"] = commit()
    began, used = time.perf_counter(), time.process_time()
    try:
        problem = case.build(mesh)
        if number:
            problem = perturbed(problem, [0, number], SPREAD)
        began, used = time.perf_counter(), time.process_time()
        solution = trajopt.solve(problem, problem.solver or trajopt.Ipopt(time_limit=LIMIT), **options)
        found = {
            "passes": bool(solution.converged and solution.kkt.primal < 1e-6),
            "objective": float(solution.objective),
            "iterations": int(solution.iterations),
            "status": solution.status.name,
        }
    except trajopt.TrajoptError as error:
        found = {"passes": False, "objective": None, "iterations": 0}
        found["status"] = f"{type(error).__name__}: {error}"[:200]
    cpu, seconds = time.process_time() - used, time.perf_counter() - began
    return {**known, **found, "seconds": seconds, "cpu": cpu}


def run(
    jobs: list[tuple[str, int, int]], processes: int, minutes: float, kept: Path | None
) -> list[dict[str, Any]]:
    """Every solve of the jobs, in a random order that is always the same; after `minutes` no job begins.

    kept : file to which the rows of every finished job are added; what it holds already is not solved again
    """
    rows = []
    if kept is not None and kept.exists():
        rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    done = {(each["case"], each["mesh"]) for each in rows}
    left = [jobs[place] for place in np.random.default_rng(0).permutation(len(jobs))]
    left = [job for job in left if job[:2] not in done] if minutes > 0.0 else []
    ends = time.monotonic() + 60.0 * minutes
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=compile_kernels) as pool:
        for future in as_completed([pool.submit(solved_case, *job) for job in left]):
            if future.cancelled():
                continue
            rows += future.result()
            if kept is not None:
                with kept.open("a", encoding="utf-8") as stream:
                    stream.write("".join(json.dumps(each) + "\n" for each in future.result()))
            if time.monotonic() > ends:
                pool.shutdown(wait=False, cancel_futures=True)
    place = {job[:2]: index for index, job in enumerate(jobs)}
    return sorted(rows, key=lambda each: place[each["case"], each["mesh"]])


def compile_kernels() -> None:
    """A first solve, whose seconds are those of compilers."""
    trajopt.solve(case_of("crane, time").build(10), starts=1)
    trajopt.solve(case_of("ur5, all limits, pair 0").build(10), starts=1)
