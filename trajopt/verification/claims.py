"""Checks the values that a solution reports against its motion and its problem.

Numbers in a file may have been changed. Control points, durations and parameters are the motion; objective,
costs, nodes, unknowns and the certificate follow from them. One that does not is reported as a difference,
in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import CLAIMED
from trajopt.checks.integral_checks import CostCheck
from trajopt.solution.asked_tolerances import looser_tolerances
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solution import Answer, SolutionData, confirmed_mesh_of, other_nodes
from trajopt.splines.basis import SAME_TIME
from trajopt.transcription.links.linked_program import LinkedProgram
from trajopt.verification.recomputed_kkt import RebuiltProgram, multipliers_fit


def unusable(solution: SolutionData) -> str:
    """Reason why constraints cannot be evaluated on the motion at all; empty where they can."""
    times, end, slack = solution.node_times, solution.duration, SAME_TIME * solution.duration
    if not 0.0 < end < np.inf:
        return f"the duration is {end:.6g} s, expected positive seconds"
    if not times.size or not (
        times[0] >= -slack and times[-1] <= end + slack and np.all(np.diff(times) >= 0.0)
    ):
        return f"nodes: {times.size} times that do not rise within the motion, 0 to {end:.6g} s"
    return ""


def unusable_phases(solution: PhasesSolutionData) -> str:
    """Reason why the motions of phases cannot be evaluated together at all; empty where they can."""
    asked = solution.asked.phase_names
    counts = len(solution.phases), len(solution.names)
    if counts != (len(asked), len(asked)):
        return f"{counts[0]} motions and {counts[1]} names of {len(asked)} phases ({', '.join(asked)})"
    return ""


def differences_of_phases(
    solution: PhasesSolutionData, program: LinkedProgram | None, y: Array | None
) -> Iterator[str]:
    """Differences between what a solution of phases reports of all together and what its motions give.

    y : the motions as unknowns of the program; None where they do not fit it
    """
    yield from _numbers(solution)
    if solution.certification is not None:
        yield from looser_tolerances(solution.certification, solution.run)
    asked = solution.asked.phase_names
    if solution.names != asked:
        names = ", ".join(solution.names), ", ".join(asked)
        yield "names of phases: {}, but those of the problems are {}".format(*names)
    if program is None or y is None:
        return
    yield from _unknowns(solution, y)
    for link, (k, name) in program.linked.links.rows.items():
        rows, reported = solution.phases[k].multipliers.get(name), solution.multipliers.get(link)
        if rows is None or not np.all(np.isfinite(rows)):  # the phase's own report says so
            continue
        size = float(np.abs(rows[0]).max(initial=0.0))
        yield from _other_multipliers(
            f"link {link}", reported, rows[0], size, f"the rows of phase '{asked[k]}'"
        )


def differences(
    solution: SolutionData, costs: Sequence[CostCheck], program: RebuiltProgram | None
) -> Iterator[str]:
    """Every difference between what the solution reports and what its motion gives, in words.

    Single costs and the KKT error are compared by the report itself.
    """
    yield from solution.contradictions
    yield from _numbers(solution)
    stated = {cost.name for cost in costs}
    for name in solution.cost_terms:
        if name not in stated and name not in solution.problem.unsaved:
            yield f"cost '{name}': the problem has none"
    yield from _nodes(solution, program)
    if program is not None:
        yield from _point(solution, program)
    if solution.certificate is not None:
        yield from _certified_motion(solution)
        yield from solution.certificate.contradictions(solution)


def _numbers(answer: Answer) -> Iterator[str]:
    """Multipliers and KKT residuals of a converged solve that are no finite numbers."""
    if not answer.converged:
        return
    if not all(0.0 <= residual < np.inf for residual in vars(answer.kkt).values()):
        yield f"KKT residuals that are not finite and positive: {answer.kkt}"
    kept = {f"multipliers of {name}": values for name, values in answer.multipliers.items()}
    if answer.point is not None:
        kept |= {f"the solver's {name}": values for name, values in vars(answer.point).items()}
    for name, values in kept.items():
        if values is not None and not np.all(np.isfinite(values)):
            yield f"{name}: not finite"


def _certified_motion(solution: SolutionData) -> Iterator[str]:
    """A certificate is of one motion: that it holds says nothing of another."""
    assert solution.certificate is not None
    certified = solution.certificate.motion
    if certified is not None:
        own, other = _arrays_of_motion(certified), _arrays_of_motion(solution)
        if len(own) != len(other) or not all(map(np.array_equal, own, other)):
            yield "certificate: it is of another motion, not of this one"


def _arrays_of_motion(solution: SolutionData) -> list[Array]:
    """All numbers that a motion follows from: durations, splines, parameters."""
    groups = solution.curve.groups
    splines = [(b.knots, points) for g in groups for b, points in zip(g.bases, g.control_points, strict=True)]
    parameters = [solution.parameters[name] for name in sorted(solution.parameters)]
    return [solution.curve.durations, *(array for spline in splines for array in spline), *parameters]


def _nodes(solution: SolutionData, program: RebuiltProgram | None) -> Iterator[str]:
    """The nodes are where constraints are looked at: too few of them would hide what is wrong."""
    if program is not None:
        if wrong := other_nodes(solution, program.nlp.unknowns.nodes, "problem"):
            yield wrong
    elif confirmed_mesh_of(solution) is None:
        knots, slack = solution.knot_times, SAME_TIME * solution.duration
        inside = np.searchsorted(solution.node_times, knots[1:] + slack, "right") - np.searchsorted(
            solution.node_times, knots[:-1] - slack, "left"
        )
        if np.any(inside < 2):
            yield f"nodes: fewer than two in {np.count_nonzero(inside < 2)} of {inside.size} spans"


def _point(solution: SolutionData, program: RebuiltProgram) -> Iterator[str]:
    """The solver's unknowns are those of the motion, and multipliers by constraint those of its rows.

    Multipliers of both may be wrong together.
    """
    (nlp, y), point, scaling = program, solution.point, solution.scaling
    if point is None:
        return
    yield from _unknowns(solution, y)
    if scaling is None or not multipliers_fit(nlp, point):
        return
    if scaling.rows.shape != nlp.scaling.rows.shape:
        return
    rows = scaling.rescaled(point, nlp.scaling).row_multipliers
    assert rows is not None
    expected = nlp.physical_multipliers(rows)
    if solution.certificate is not None:  # found under limits of arcs, whose rows have other names
        expected = solution.certificate.multipliers_asked(solution, expected)
    size = max((float(np.abs(each).max(initial=0.0)) for each in expected.values()), default=0.0)
    for name, found in expected.items():
        reported = solution.multipliers.get(name)
        yield from _other_multipliers(name, reported, found, size, "the solver's rows")


def _other_multipliers(
    name: str, reported: Array | None, found: Array, size: float, rows: str
) -> Iterator[str]:
    if reported is None or reported.shape != found.shape:
        yield f"multipliers of {name}: {rows} have other ones"
    elif not np.allclose(reported, found, rtol=0.0, atol=CLAIMED * size, equal_nan=True):
        yield f"multipliers of {name}: up to {np.abs(reported - found).max():.3g} from {rows}"


def _unknowns(answer: Answer, y: Array) -> Iterator[str]:
    """Unknowns of the solver that are not those of the motion or motions."""
    if answer.point is None or answer.point.y.size != y.size:
        return
    miss = np.abs(answer.point.y - y).max(initial=0.0)
    if not miss <= CLAIMED * np.abs(y).max(initial=1.0):
        yield f"the solver's unknowns differ from the motion's by up to {miss:.3g}"
