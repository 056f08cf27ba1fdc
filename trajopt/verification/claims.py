"""What a solution reports of itself, compared with what its motion gives in its problem.

A saved solution is a claim: whoever changes a number in the file must not be believed. Control points,
durations and parameters are the motion; objective, costs, nodes, unknowns and the certificate follow from
them, and every one that does not is a difference with both values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trajopt.base.rounding import AGREEMENT
from trajopt.checks.check_times import trajectory_of
from trajopt.checks.limit_violations import largest_violations, limit_ranges
from trajopt.checks.optimality.cost_check import CostCheck
from trajopt.solution.solution import SolutionData
from trajopt.splines.basis import SAME_TIME
from trajopt.verification.recomputed_kkt import RebuiltProgram

UNKNOWNS = 1e-6  # of the largest: the way from a motion to unknowns and back leaves rounding
MISSTATED = 1e-6  # of a limit's range: how far a violation may be from what the certificate reports
SWITCHES = 1e-6  # of the duration: how near a switch is to the border of two arcs
SATURATED = 1e-2  # of a limit's range: how near a saturated component is to its bound; margins are smaller
PLACES = np.array([0.25, 0.5, 0.75])  # of an arc, where saturated components are looked at


def differences(
    solution: SolutionData, costs: Sequence[CostCheck], program: RebuiltProgram | None
) -> Iterator[str]:
    """Every difference between what the solution reports and what its motion gives, in words.

    Single costs and the KKT error are compared by the report itself.
    """
    yield from (f"the file contradicts itself: {each}" for each in solution.altered)
    yield from _objective(solution, costs)
    yield from _nodes(solution, program)
    if program is not None:
        yield from _unknowns(solution, program)
        yield from _multipliers(solution, program)
    if solution.certificate is not None:
        yield from _violations(solution)
        yield from _structure(solution)


def _objective(solution: SolutionData, costs: Sequence[CostCheck]) -> Iterator[str]:
    total, size = sum(solution.cost_terms.values(), 0.0), sum(abs(c) for c in solution.cost_terms.values())
    if not np.isclose(solution.objective, total, rtol=0.0, atol=AGREEMENT * size, equal_nan=True):
        yield f"objective: {solution.objective:.9g}, but its costs add up to {total:.9g}"
    stated = {cost.name for cost in costs}
    yield from (f"cost '{name}': the problem has none" for name in solution.cost_terms if name not in stated)


def _nodes(solution: SolutionData, program: RebuiltProgram | None) -> Iterator[str]:
    """The nodes are where constraints are looked at: too few of them would hide what is wrong."""
    if program is not None:
        reported, found = solution.node_times, program.node_times
        if reported.shape != found.shape or not np.allclose(
            reported, found, rtol=0.0, atol=SAME_TIME * solution.duration
        ):
            yield f"nodes: {reported.size} times that are not those of the problem's {found.size}"
    elif trajectory_of(solution) is None:
        knots, slack = solution.knot_times, SAME_TIME * solution.duration
        inside = np.searchsorted(solution.node_times, knots[1:] + slack, "right") - np.searchsorted(
            solution.node_times, knots[:-1] - slack, "left"
        )
        if np.any(inside < 2):
            yield f"nodes: fewer than two in {np.count_nonzero(inside < 2)} of {inside.size} spans"


def _unknowns(solution: SolutionData, program: RebuiltProgram) -> Iterator[str]:
    """The solver's own unknowns, from which another solve would start, are those of the motion."""
    point = solution.point
    if point is not None and point.y.size == program.y.size:
        miss = float(np.abs(point.y - program.y).max(initial=0.0))
        if not miss <= UNKNOWNS * np.abs(program.y).max(initial=1.0):
            yield f"the solver's unknowns differ from the motion's by up to {miss:.3g}"


def _multipliers(solution: SolutionData, program: RebuiltProgram) -> Iterator[str]:
    """The multipliers by constraint are those of the solver's rows; both may be wrong together.

    A certified motion was found under limits of its arcs, whose rows have other names.
    """
    if solution.point is None or solution.scaling is None or solution.certificate is not None:
        return
    expected = program.multipliers_of(solution.point, solution.scaling) or {}
    size = max((float(np.abs(each).max(initial=0.0)) for each in expected.values()), default=0.0)
    for name, found in expected.items():
        reported = solution.multipliers.get(name)
        if reported is None or reported.shape != found.shape:
            yield f"multipliers of {name}: the solver's rows have other ones"
        elif not np.allclose(reported, found, rtol=0.0, atol=UNKNOWNS * size, equal_nan=True):
            yield f"multipliers of {name}: up to {np.abs(reported - found).max():.3g} from the solver's rows"


def _violations(solution: SolutionData) -> Iterator[str]:
    """Violations that are not what the certificate reports."""
    assert solution.certificate is not None
    reported = {violation.label: violation.value for violation in solution.certificate.violations}
    limits = solution.problem.path_limits()
    if not reported or not limits:  # a certificate without a search reports none
        return
    ranges = np.concatenate([limit_ranges(limit) for limit in limits])
    for found, width in zip(largest_violations(solution), ranges, strict=True):
        if found.label not in reported:
            yield f"certificate: it reports nothing of {found.label}"
        elif not np.isclose(found.value, reported[found.label], rtol=0.0, atol=MISSTATED * width):
            yield _misstated(
                f"certificate, largest violation of {found.label}", reported[found.label], found.value
            )


def _structure(solution: SolutionData) -> Iterator[str]:
    """Switch times that are not the arcs', and components that are not at the bound they should be at."""
    assert solution.certificate is not None
    structure, limits = solution.certificate.structure, solution.problem.path_limits()
    if structure is None:
        return
    switches, starts = np.asarray(structure.times), solution.curve.starts
    gaps = np.abs(switches[:, None] - starts).min(axis=1)  # an arc may consist of several of the motion's
    whole = switches.size == len(structure.saturated) + 1 and np.all(np.diff(switches) > 0.0)
    if not whole or gaps.max() > SWITCHES * solution.duration:
        yield f"certificate: switches that are not those of the motion's {starts.size - 1} arcs"
        return
    for arc, saturated in enumerate(structure.saturated):
        times = switches[arc] + PLACES * (switches[arc + 1] - switches[arc])
        for each in sorted(saturated):
            if not each.exists(limits):
                yield f"certificate: a limit {each.limit}, {each.component} that the problem does not have"
                continue
            limit = limits[each.limit]
            bound = (limit.upper if each.side > 0 else limit.lower)[each.component]
            values = solution.value(limit.term, times)[:, each.component]
            if not np.all(np.abs(values - bound) <= SATURATED * limit_ranges(limit)[each.component]):
                yield f"certificate: {limit.name} is not at its bound {bound:.6g} on arc {arc}"


def _misstated(what: str, claimed: float, found: float) -> str:
    return f"{what}: {claimed:.9g} by the solution, {found:.9g} by its motion"
