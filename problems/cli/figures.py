"""Figures that the commands write: those of every solution and those of its problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


FIGURES = ("torques", "joint_forces", "joints", "motion")
NEEDED = {"torques": "tau", "joint_forces": "wrench"}  # figure -> the quantity that it draws


def draw(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Write every figure that the dynamics allows, and give the names of the files."""
    from trajopt import plot as figures
    from trajopt.graph.block import SkeletonDynamics

    known = solution.problem.quantities.knows
    wanted = [name for name in FIGURES if known(NEEDED.get(name, "q"))]
    if not isinstance(solution.problem.dynamics, SkeletonDynamics):
        wanted.remove("motion")
    run = {} if solution.run is None else {"Keywords": f"trajopt run {solution.run.id}"}
    for name in wanted:
        getattr(figures, name)(solution).savefig(folder / f"{name}.{ending}", metadata=run)
    return [f"{name}.{ending}" for name in wanted] + draw_more(solution, folder, ending)


def draw_more(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Figures that a problem of the library adds, by a function `draw` of its module."""
    from problems import catalogue

    if solution.recipe is None or solution.recipe.problem not in catalogue.names():
        return []
    more = getattr(catalogue.module(solution.recipe.problem), "draw", None)
    return [] if more is None else more(solution, folder, ending)
