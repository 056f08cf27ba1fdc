"""Figures that the commands write: those of every solution and those of its problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.phases.phases_solution import PhasesSolution
    from trajopt.solution.solution import Solution


FIGURES = ("torques", "joint_forces", "joints", "motion")
NEEDED = {"torques": "tau", "joint_forces": "wrench"}  # figure -> the quantity that it draws


def draw(solution: Solution | PhasesSolution, folder: Path, ending: str) -> list[str]:
    """Write every figure that the dynamics allows, and give the names of the files; of phases, each one's."""
    from trajopt.solution.solution import Solution

    if isinstance(solution, Solution):
        return draw_one(solution, folder, ending) + draw_more(solution, folder, ending)
    names = []
    for number, phase in enumerate(solution.phases):
        own = replace(phase, run=solution.run)
        names += draw_one(own, folder, ending, f"phase_{number}_")
    return names


def draw_one(solution: Solution, folder: Path, ending: str, prefix: str = "") -> list[str]:
    """The figures of one motion, in files whose names begin with `prefix`."""
    from trajopt import plot as figures
    from trajopt.graph.block import SkeletonDynamics

    known = solution.problem.quantities.knows
    wanted = [name for name in FIGURES if known(NEEDED.get(name, "q"))]
    if not isinstance(solution.problem.dynamics, SkeletonDynamics):
        wanted.remove("motion")
    run = {} if solution.run is None else {"Keywords": f"trajopt run {solution.run.id}"}
    for name in wanted:
        getattr(figures, name)(solution).savefig(folder / f"{prefix}{name}.{ending}", metadata=run)
    return [f"{prefix}{name}.{ending}" for name in wanted]


def draw_more(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Figures that a problem of the library adds, by a function `draw` of its module."""
    from problems import catalogue

    if solution.recipe is None or solution.recipe.problem not in catalogue.names():
        return []
    more = getattr(catalogue.module(solution.recipe.problem), "draw", None)
    return [] if more is None else more(solution, folder, ending)
