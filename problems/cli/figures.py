"""Figures that the commands write: those of every solution and those of its problem."""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trajopt import PhasesSolution, Solution
    from trajopt.solution.records import RunRecord


FIGURES = ("torques", "joint_forces", "joints", "motion", "states")
NEEDED = {"torques": "tau", "joint_forces": "wrench"}  # figure -> the quantity that it draws
STATES = "states"  # one figure of all phases
Notify = Callable[[str], None]  # called with a line before each figure
DrawFigures = Callable[[Any, Path, str], list[str]] | None  # writes the figures of a user's own problem


def silent(_: str) -> None:
    """Report nothing."""


def figure_writer(module: Mapping[str, Any]) -> DrawFigures:
    """The function `draw(solution, folder, ending)` among the names of a problem's module or file.

    None where there is none, or one that takes other arguments: `draw(node)` is the picture of a system, see
    `trajopt.system`.
    """
    draw = module.get("draw")
    return module["draw"] if callable(draw) and _takes(draw, 3) else None


def explain_unused(module: Mapping[str, Any], problem: Any) -> str:
    """Advice about a `draw` that no figure comes from: not a writer of figures, nor a system's picture."""
    draw = module.get("draw")
    if not callable(draw) or _takes(draw, 3):
        return ""
    if _takes(draw, 1) and any(getattr(part.dynamics, "draw", None) is not None for part in problem.parts):
        return ""
    return (
        f"draw{inspect.signature(draw)} is not called: figures of your own come from "
        "draw(solution, folder, ending), the picture of a system from trajopt.system(..., draw=function)"
    )


def _takes(function: Callable[..., Any], count: int) -> bool:
    """True for a function that can be called with so many arguments, or does not say with how many."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


def draw(
    solution: Solution | PhasesSolution,
    folder: Path,
    ending: str,
    notify: Notify = silent,
    draw_own: DrawFigures = None,
) -> list[str]:
    """Write every figure that the dynamics allows, and give the names of the files.

    draw_own : writes those that a user's own problem adds
    Of phases these are one figure of the states and controls of all, and the others of each one.
    """
    from trajopt.plot.joint_curves import has_states

    drawn: list[tuple[Any, str, str]] = [
        (part, name, f"phase_{number}_" if phase else "")
        for number, (phase, part) in enumerate(solution.named_parts)
        for name in figures_of(part)
    ]
    if has_states(solution):
        drawn.append((solution, STATES, ""))
    names = [_saved(part, name, solution.run, folder, ending, notify, prefix) for part, name, prefix in drawn]
    return names + draw_more(solution, folder, ending, notify, draw_own)


def figures_of(solution: Any) -> list[str]:
    """Names of the figures of one motion that its dynamics allows, states and controls apart."""
    from trajopt.graph.protocols import SkeletonDynamics
    from trajopt.problem.systems.system import System

    known, dynamics = solution.problem.quantities.knows, solution.problem.dynamics
    wanted = [name for name, quantity in NEEDED.items() if known(quantity)]
    wanted += [] if isinstance(dynamics, System) else ["joints"]
    return wanted + (["motion"] if isinstance(dynamics, SkeletonDynamics) else [])


def _saved(
    solution: Any,
    name: str,
    run: RunRecord | None,
    folder: Path,
    ending: str,
    notify: Notify,
    prefix: str,
) -> str:
    """Draw a figure, write its file, which carries the identity of the run, and give the file's name."""
    from trajopt import plot as figures

    metadata = {} if run is None else {"Keywords": f"trajopt run {run.id}"}
    file = f"{prefix}{name}.{ending}"
    notify(f"drawing {file}")
    getattr(figures, name)(solution).savefig(folder / file, metadata=metadata)
    return file


def draw_more(
    solution: Solution | PhasesSolution,
    folder: Path,
    ending: str,
    notify: Notify = silent,
    draw_own: DrawFigures = None,
) -> list[str]:
    """Figures that a problem adds by a function `draw` of its module.

    draw_own : that of a user's own problem
    """
    from problems import catalogue

    if draw_own is None and solution.recipe is not None and solution.recipe.problem in catalogue.names():
        draw_own = figure_writer(vars(catalogue.module(solution.recipe.problem)))
    if draw_own is None:
        return []
    notify(f"drawing the figures of {solution.name}")
    return draw_own(solution, folder, ending)


def is_ours(name: str) -> bool:
    """True if a file's name is that of a figure of every solution, "motion.png" or "phase_0_motion.png"."""
    return re.fullmatch(rf"(phase_[0-9]+_)?({'|'.join(FIGURES)})", Path(name).stem) is not None


def how_to_open(folder: Path, names: Collection[str]) -> str:
    """Advice how other programs open the files in a folder; empty where they open none of them."""
    from problems.human.opensim import setups

    return f"\n{setups.how_to_open(folder)}" if setups.MODEL in names else ""


def own_figures(
    solution: Solution | PhasesSolution,
    drawn: Collection[str],
    folder: Path,
    notify: Notify = silent,
    draw_own: DrawFigures = None,
) -> dict[str, bytes]:
    """Pictures and tables that a problem adds, name of the file -> content, for a page.

    drawn : names of figures that are in the folder; where there are none, they are drawn for the page alone
    """
    from trajopt.report.page import KINDS

    with tempfile.TemporaryDirectory() as temporary:
        if not drawn:
            folder = Path(temporary)
            drawn = draw_more(solution, folder, "png", notify, draw_own)
        own = [name for name in drawn if Path(name).suffix in KINDS and not is_ours(name)]
        return {name: (folder / name).read_bytes() for name in own}
