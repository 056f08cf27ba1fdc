"""Files that the command line writes for a solved gait: figures, an animation, exports, tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt import Solution

FIGURES = ("angles", "torques", "reactions", "forces", "snapshots")


def draw(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Write figures of the gait cycle, an animation, exports and tables of criteria; names of the files.

    They are of our skeleton: of a walk with a model of the user's own there is the motion alone, in the names
    and signs of the model.
    """
    if by_muscles(solution):
        from problems.human.muscles import gait_by_muscles

        return gait_by_muscles.draw(solution, folder, ending)
    if of_own_model(solution):
        from problems.human.motions.own_motion import own_motion
        from problems.human.opensim.setups import MOTION
        from problems.human.opensim.storage import write_storage

        write_storage(folder / MOTION, own_motion(solution))
        return [MOTION]
    from problems.human import plot
    from problems.human.assessment.criteria import credibility, table
    from problems.human.assessment.exports import export
    from problems.human.assessment.identities import identities
    from problems.human.assessment.metabolic import metabolic_line

    names = [f"gait_{name}.{ending}" for name in FIGURES]
    for figure, name in zip(FIGURES, names, strict=True):
        getattr(plot, figure)(solution).savefig(folder / name)
    plot.animate(solution, folder / "gait.gif")
    # With predicted contact equations of the base hold at the nodes of the mesh, which are no identities.
    kept = (credibility,) if getattr(solution.asked, "contacts", {}) else (credibility, identities)
    tables = [table(each(solution)) for each in kept]
    tables.append(metabolic_line(solution))
    (folder / "gait.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    return [*names, "gait.gif", "gait.md", *export(solution, folder)]


def remarks(solution: Solution) -> list[str]:
    """Lines that the command line prints below the report of a solved gait: the criteria that are not met."""
    from problems.human.assessment.criteria import credibility, unmet

    if by_muscles(solution):
        from problems.human.muscles import gait_by_muscles

        return gait_by_muscles.remarks(solution)
    if of_own_model(solution):
        return ["criteria of walks are of our skeleton: none are told of a model of your own"]
    return [unmet(credibility(solution))] if solution.converged else []


def of_own_model(solution: Solution) -> bool:
    """True if a model of the user's own walked, not our skeleton."""
    return solution.recipe is not None and bool(solution.recipe.parameters.get("model"))


def by_muscles(solution: Solution) -> bool:
    """True if muscles of a user's model drove the walk."""
    return solution.recipe is not None and bool(solution.recipe.parameters.get("muscles"))
