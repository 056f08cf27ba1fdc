"""Corrections of a switching structure after a solve on its arcs, by multipliers and by violated limits.

* A multiplier of the wrong sign means that its limit is not active there (Pontryagin: a torque sits at the
  bound towards which the objective would fall).
* An inactive limit that is violated on part of an arc is active there.
* An arc whose duration goes to zero was no switching interval.

One correction is made at a time.

The resolution of switching arcs is refined by a higher degree for all, or by cutting some arcs.

Within an arc a motion is analytic, and its Legendre coefficients fall geometrically: raising the degree by m
lowers what is missed between Gauss points by rate^m. How fast they fall is read off the accelerations. Where
no degree that is allowed suffices, or cutting takes fewer nodes, arcs are cut: on p parts of an arc
coefficients fall about p times as fast, so that degree d misses less by p^d (Liu, Hager and Rao, Optim.
Control Appl. Meth. 36, 2015, choose between the two by the same coefficients).

Multipliers of velocities and positions at their limits, on boundary arcs, are checked by their signs.

Pontryagin's multiplier of v <= limit is a measure eta >= 0 in time, and so is that of q <= limit. On arcs,
v = limit is imposed by v = limit at the entry, with the multiplier sigma, and by a = 0 at Gauss points, with
the multiplier densities

    nu(t) = eta((t, exit]),        sigma = eta([entry, exit]),

so that sigma >= nu(t_1) >= nu(t_2) >= ... >= 0. q = limit is imposed by q = limit and v = 0 at the entry,
with the multipliers sigma and rho, and by a = 0 at Gauss points; integrating by parts once more,

    nu(t) = integral from t to the exit of (s - t) d eta(s),        rho = nu(entry),        sigma as before,

so that nu falls to zero with slopes -nu' = eta((t, exit]) that fall from sigma to zero, too (multipliers of
state constraints: Hartl, Sethi and Vickson, SIAM Rev. 37, 1995). Every increase is a part of eta with the
wrong sign, where the objective would fall by leaving the limit. A boundary arc of one joint covers all
neighbouring polynomial arcs on which it is at the same bound. Where it ends with the motion, in a state that
is given, the measure of that last instant is not determined, and only changes on the way are looked at.

Violations between Gauss points gain, and their margins cost, a first-order change of the objective.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array, runs
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.arc_problem import AT_BORDER, BETWEEN, ArcRows, Part, free_arcs
from trajopt.certificates.certificate_record import FirstOrderGain, impulses_by_component
from trajopt.certificates.switching_structure import ArcSettings, Contradiction, Saturation, Structure
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.line import Line
from trajopt.checks.violations import limit_ranges
from trajopt.graph.quantities import TORQUES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation
from trajopt.splines.basis import BORDER_SIDE
from trajopt.splines.curve import Curve
from trajopt.splines.quadrature import gauss


@dataclass(frozen=True)
class BoundaryArc:
    """Neighbouring arcs `first` to `last` of a structure, one velocity or position at its limit on all."""

    saturation: Saturation
    first: int
    last: int


def boundary_arcs(structure: Structure, limit: int) -> Iterator[BoundaryArc]:
    """All boundary arcs of one limit from entry to exit."""
    open_since: dict[Saturation, int] = {}
    for arc, saturated in enumerate((*structure.saturated, frozenset())):
        active = {s for s in saturated if s.limit == limit}
        for saturation in sorted(open_since.keys() - active):
            yield BoundaryArc(saturation, open_since.pop(saturation), arc - 1)
        for saturation in active - open_since.keys():
            open_since[saturation] = arc


def boundary_sign_check(
    trial: Solution, problem: ProblemData, structure: Structure
) -> tuple[int, tuple[Contradiction, ...]]:
    """Number of pairs of arc and velocity or position at its limit that were checked, and all wrong signs.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    The largest wrong sign comes first.
    """
    found: list[tuple[BoundaryArc, Array]] = []
    for index, limit in enumerate(problem.path_limits()):
        order = limit_order(problem, limit)
        if order not in (0, 1):
            continue
        for arc in boundary_arcs(structure, index):
            measure = _measure(trial, structure, arc, limit, order)
            if measure is not None:
                found.append((arc, measure))
    scale = max((abs(float(measure[0])) for _, measure in found), default=0.0) or 1.0
    wrong = []
    for arc, measure in found:
        impulse = float(np.maximum(np.diff(measure), 0.0).sum()) / scale
        window = structure.times[arc.first], structure.times[arc.last + 1]
        wrong.append(Contradiction(arc.first, arc.saturation, *window, impulse))
    checked = sum(arc.last - arc.first + 1 for arc, _ in found)
    return checked, tuple(sorted((w for w in wrong if w.impulse > 0.0), key=lambda each: -each.impulse))


def _measure(
    trial: Solution, structure: Structure, boundary: BoundaryArc, limit: Constraint, order: int
) -> Array | None:
    """Residuals that must fall to zero, sigma first, in objective per range of the limit; None without rows.

    Of a velocity nu at all Gauss points, of a position the slopes of -nu from point to point.
    """
    index, component = boundary.saturation.limit, boundary.saturation.component
    times, densities = [], []
    for arc in range(boundary.first, boundary.last + 1):
        rows = ArcRows(index, arc, "held").multipliers(trial.multipliers)
        if rows is None:
            return None
        points, weights = gauss(len(rows))
        times.append(structure.times[arc] + structure.durations[arc] * points)
        densities.append(rows[:, component] / weights / structure.durations[arc])
    nu, at = np.concatenate(densities), np.concatenate(times)
    if boundary.last < structure.arc_count - 1:  # else what the end asks for is held there, too
        nu, at = np.append(nu, 0.0), np.append(at, structure.times[boundary.last + 1])
    sigma = _entry(trial, boundary, "held at the start")
    if order == 0:
        rho = _entry(trial, boundary, "still at the start")
        nu, at = np.append(rho, nu), np.append([structure.times[boundary.first]] * rho.size, at)
        nu = -np.diff(nu) / np.diff(at)
        nu = np.append(nu, [0.0] * (boundary.last < structure.arc_count - 1))
    signed = boundary.saturation.side * np.append(sigma if sigma.size else nu[:1], nu)
    return signed * limit_ranges(limit)[component]


def _entry(trial: Solution, boundary: BoundaryArc, part: Part) -> Array:
    """The multiplier of what is held at the entry, (1,), or nothing where the motion's start gives it."""
    rows = ArcRows(boundary.saturation.limit, boundary.first, part).multipliers(trial.multipliers)
    return np.empty(0) if rows is None else rows[:1, boundary.saturation.component]


SAMPLES = 6  # times per degree of an arc


@dataclass(frozen=True, eq=False)
class ArcGain:
    """Gains of oversteps, arc by arc, and costs of margins, in units of the objective and to first order.

    oversteps : (arcs,), sum of |multiplier| times the largest violation on the arc
    held : (arcs,), largest violation of a saturated limit on the arc, relative to the limit's range
    margins : of all arcs
    """

    oversteps: Array
    held: Array
    margins: float

    def relative(self, objective: float) -> FirstOrderGain:
        """Both sums as parts of the objective."""
        return FirstOrderGain.of(float(self.oversteps.sum()), self.margins, objective)


def arc_gain(trial: Solution, problem: ProblemData, structure: Structure, settings: ArcSettings) -> ArcGain:
    """Gain by the multipliers of all rows that bound a limit, those of equalities at an arc's start included.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    settings : how limits were imposed; free margins where a limit is inactive on an arc with free joints
    """
    limits, count = problem.path_limits(), structure.arc_count
    oversteps, held, margins = np.zeros(count), np.zeros(count), 0.0
    free = free_arcs(structure, problem.dynamics.n, settings.regular)
    largest = _largest_by_arc(trial, limits)
    for index, limit in enumerate(limits):
        width, violations = limit.lower.size, largest[index]
        between = impulses_by_component(
            trial.multipliers, [f"{limit.name} {BETWEEN}", f"{limit.name} {AT_BORDER}"], width
        )
        margin, free_margin = settings.margins_of(index, limit)
        margins += float(between @ (margin + free_margin))
        for arc, saturated in enumerate(structure.saturated):
            names = [ArcRows(index, arc).name, ArcRows(index, arc, "held at the start").name]
            impulses = impulses_by_component(trial.multipliers, names, width)
            inside = np.isin(np.arange(width), [s.component for s in saturated if s.limit == index])
            oversteps[arc] += impulses @ violations[arc]
            margins += float(impulses @ (margin + free_margin * ~inside * free[arc]))
            relative = violations[arc] / limit_ranges(limit)
            held[arc] = max(held[arc], float(relative[inside].max(initial=0.0)))
        oversteps += between @ violations.max(axis=0) / count  # rows of all arcs in one
    return ArcGain(oversteps, held, margins)


def _largest_by_arc(trial: Solution, limits: list[Constraint]) -> list[Array]:
    """Largest violation of each component of every limit on each arc, (arcs, width), not below zero.

    On arcs with equalities at Gauss points violations are largest at the arc's ends, which are looked at.
    """
    curve = trial.curve
    fractions = np.linspace(0.0, 1.0, SAMPLES * curve.bases[0].degree)
    ends = curve.starts[1:] - BORDER_SIDE * curve.duration * (curve.starts[1:] < curve.duration)
    times = curve.starts[:-1, None] + (ends - curve.starts[:-1])[:, None] * fractions
    values = trial.values(list({limit.term.quantity: limit.term for limit in limits}.values()), times)
    found = []
    for limit in limits:
        violation = bound_violation(values[limit.term.quantity], limit.lower, limit.upper)
        found.append(np.maximum(violation, 0.0).max(axis=1))
    return found


def contradictions(motion: Solution, structure: Structure) -> tuple[Contradiction, ...]:
    """Wrong signs of the multipliers of torques and accelerations saturated on arcs, largest impulse first.

    The multiplier's density in time is the NLP multiplier over quadrature weight and duration; its impulse
    over an interval is the sum of the NLP multipliers there.
    """
    found: list[Contradiction] = []
    points = gauss(motion.problem.trajectory.arcs[0].basis.degree - 1)[0]
    edges = np.concatenate([[0.0], 0.5 * (points[1:] + points[:-1]), [1.0]])
    held = list(_held(motion, structure))
    scale = max([NOT_ZERO, *(float(np.abs(signed).sum()) for _, _, signed in held)])
    for number, s, signed in held:
        times = structure.times[number] + structure.durations[number] * edges
        for wrong in runs(signed < 0.0):
            impulse = -float(signed[wrong].sum()) / scale
            found.append(Contradiction(number, s, times[wrong.start], times[wrong.stop], impulse))
    return tuple(sorted(found, key=lambda each: -each.impulse))


def without_idle(motion: Solution, structure: Structure, settings: SearchSettings) -> Structure:
    """The structure without saturations whose multipliers vanish, the same object where there are none."""
    impulses = {(number, s): float(np.abs(signed).sum()) for number, s, signed in _held(motion, structure)}
    least = settings.idle * max(impulses.values(), default=0.0)
    idle = {key for key, impulse in impulses.items() if impulse < least}
    if not idle:
        return structure
    kept = tuple(
        frozenset(s for s in saturated if (number, s) not in idle)
        for number, saturated in enumerate(structure.saturated)
    )
    return Structure(structure.times, kept).merged()


def active_outside_structure(motion: Solution, structure: Structure, settings: SearchSettings) -> str:
    """The limit with multipliers on an arc where the structure has it inactive, in words; else nothing.

    The impulse over an arc, in objective per range of the limit, is compared with the objective.
    """
    for index, limit in enumerate(motion.problem.path_limits()):
        total = np.abs(_multipliers_per_range(motion, structure, limit)).sum(axis=1)
        for number, saturated in enumerate(structure.saturated):
            inside = {s.component for s in saturated if s.limit == index}
            for component in set(range(limit.lower.size)) - inside:
                if total[number, component] > settings.active * abs(motion.objective):
                    window = f"{structure.times[number]:.4f} to {structure.times[number + 1]:.4f} s"
                    return f"{limit.name}, inactive in the structure, are active from {window}"
    return ""


def corrected_signs(
    structure: Structure, wrong: Contradiction, regular: bool, settings: SearchSettings
) -> Structure:
    """The structure with the other bound, or none where controls are continuous, on the wrong interval."""
    saturated = structure.saturated[wrong.arc] - {wrong.saturation}
    if not regular:
        saturated |= {wrong.saturation.flipped}
    window = _snapped(structure, wrong.arc, wrong.start, wrong.end, settings.snapped)
    return structure.replaced(wrong.arc, *window, saturated)


def without_collapsed(structure: Structure, duration: float, shortest: float) -> Structure:
    """The structure without its shortest arc if that is below a part of the duration, else itself."""
    arc = int(np.argmin(structure.durations))
    if structure.arc_count > 1 and structure.durations[arc] < shortest * duration:
        return structure.without(arc)
    return structure


def corrected_violation(
    motion: Solution, structure: Structure, violation: Line, settings: SearchSettings
) -> Structure | None:
    """The structure with a violated component of a limit saturated where it is violated.

    None where no arc can hold that limit, or where the arc holds it already.
    """
    limits, arc = motion.problem.path_limits(), structure.arc_at(violation.time)
    index, component = _limit_and_component(limits, violation)
    limit = limits[index]
    if limit_order(motion.problem, limit) is None or _holds(structure, arc, index, component):
        return None
    before_end = np.nextafter(structure.times[arc + 1], 0.0)
    times = np.linspace(structure.times[arc], before_end, settings.samples_per_arc)
    value = motion.value(limit.term, np.minimum(times, motion.duration))[:, component]
    side = 1 if value.max() - limit.upper[component] > limit.lower[component] - value.min() else -1
    violated = value > limit.upper[component] if side > 0 else value < limit.lower[component]
    if not violated.any():
        return None
    first, last = times[np.flatnonzero(violated)[[0, -1]]]
    saturated = structure.saturated[arc] | {Saturation(index, component, side)}
    if limit.term.quantity in ("q", "v"):
        saturated -= {s for s in saturated if _follows(limits, s, component)}
    window = _snapped(structure, arc, first, last, settings.snapped)
    return structure.replaced(arc, *window, saturated)


def _limit_and_component(limits: Sequence[Constraint], violation: Line) -> tuple[int, int]:
    """The places of a violation's limit and component."""
    assert violation.place is not None
    return limits.index(violation.place.constraint), violation.place.component


def of_free_joints(
    motion: Solution, structure: Structure, violations: Sequence[Line], regular: bool
) -> list[bool]:
    """Mask of the `largest_violations` of inactive limits on arcs with free joints, in their order."""
    free = free_arcs(structure, motion.problem.dynamics.n, regular)
    arcs = [structure.arc_at(violation.time) for violation in violations]
    limits = motion.problem.path_limits()
    components = (_limit_and_component(limits, violation) for violation in violations)
    each = zip(arcs, components, strict=True)
    return [free[arc] and not _holds(structure, arc, *component) for arc, component in each]


def _holds(structure: Structure, arc: int, limit: int, component: int) -> bool:
    """True if a component of a limit is saturated on an arc."""
    return any((s.limit, s.component) == (limit, component) for s in structure.saturated[arc])


def _held(motion: Solution, structure: Structure) -> Iterator[tuple[int, Saturation, Array]]:
    """Arc, saturation and signed multipliers (Gauss points,) of all saturated torques and accelerations."""
    for index, limit in enumerate(motion.problem.path_limits()):
        if limit_order(motion.problem, limit) != 2:
            continue
        multipliers = _multipliers_per_range(motion, structure, limit)
        for number, saturated in enumerate(structure.saturated):
            for s in (s for s in saturated if s.limit == index):
                yield number, s, s.side * multipliers[number, :, s.component]


def _multipliers_per_range(motion: Solution, structure: Structure, limit: Constraint) -> Array:
    """Multipliers in objective per range of the limit, (arcs, Gauss points, width)."""
    multipliers = motion.multipliers[limit.name].reshape(structure.arc_count, -1, limit.lower.size)
    return multipliers * limit_ranges(limit)


def _follows(limits: Sequence[Constraint], saturation: Saturation, joint: int) -> bool:
    """True if a saturation is of the torque or acceleration of one joint."""
    return limits[saturation.limit].term.quantity in (*TORQUES, "a") and saturation.component == joint


def _snapped(structure: Structure, arc: int, start: float, end: float, part: float) -> tuple[float, float]:
    """An interval inside an arc, extended to the arc's ends where these are within a part of its duration."""
    left, right = structure.times[arc], structure.times[arc + 1]
    near = part * (right - left)
    return (left if start - left < near else float(start)), (right if right - end < near else float(end))


FASTEST, SLOWEST = 1e-3, 0.8  # rates that are believed: rounding hides faster ones, slower ones ask for a cut
MOST_PARTS = 3  # that one part is cut in at once
SAFETY = 3.0  # a factor of what is to be gained in addition: rates are estimates


@dataclass(frozen=True)
class Resolution:
    """The degree of all arcs, and in how many equal parts each arc of the merged structure is cut."""

    degree: int
    parts: tuple[int, ...]


def finer(curve: Curve, parts: Sequence[int], highest: int, excess: Array) -> Resolution | None:
    """The cheapest change, counted in nodes, by which errors fall by `excess`; None where none is asked.

    parts : of each arc of the merged structure; the arcs of the curve are these parts
    excess : (parts,), by what factor the error of each part is above what it may be
    """
    degree, rates = curve.bases[0].degree, [coefficient_rate(curve, arc) for arc in range(len(curve.bases))]
    wanted = np.where(excess > 1.0, SAFETY * excess, 1.0)
    if np.all(wanted == 1.0):
        return None
    raised = 2 * int(np.ceil(0.5 * float((np.log(wanted) / -np.log(rates)).max())))
    cuts = np.ceil(wanted ** (1.0 / (degree - 1))) * np.where(wanted > 1.0, 1.0, 0.0)
    owner = np.repeat(np.arange(len(parts)), parts)
    fresh = []
    for arc, count in enumerate(parts):
        most = float(cuts[owner == arc].max())
        fresh.append(count if most == 0.0 else int(min(np.ceil(count * max(most, 1.5)), MOST_PARTS * count)))
    if degree + raised <= highest and raised * len(curve.bases) <= (sum(fresh) - sum(parts)) * (degree - 1):
        return Resolution(degree + raised, tuple(parts))
    return Resolution(degree, tuple(fresh))


def coefficient_rate(curve: Curve, arc: int) -> float:
    """Factor by which the Legendre coefficients of the accelerations on an arc fall from one to the next.

    The larger of the last two against the largest in the middle, in geometric mean, each joint relative to
    its largest acceleration; even and odd coefficients may vanish by symmetry.
    """
    basis, duration = curve.bases[arc], curve.durations[arc]
    count = basis.degree - 1
    points, weights = gauss(count)
    values = basis.evaluate(curve.control_points[arc], points, 2) / duration**2
    transform = np.polynomial.legendre.legvander(2.0 * points - 1.0, count - 1) * weights[:, None]
    coefficients = np.abs(transform.T @ values) * (2.0 * np.arange(count)[:, None] + 1.0)
    size = np.abs(values).max(axis=0)
    relative = (coefficients[:, size > 0.0] / size[size > 0.0]).max(axis=1, initial=0.0)
    middle = count // 2
    first, last = relative[middle - 1 : middle + 1].max(), relative[-2:].max()
    if not (first > 0.0 and last > 0.0):
        return FASTEST
    return float(np.clip((last / first) ** (1.0 / (count - 1 - middle)), FASTEST, SLOWEST))
