"""Path equations on torques, and their residual forces in a measure that no choice of coordinates changes.

The residuals r(t) of the torque equations that hold at one time are generalised forces in the directions
C' y in which these equations allow no motor, C = dr/dtau. Locked to those directions the robot has the
inertia C M C', and r accelerates it by (C M C')^-1 r. The size

    |r| = sqrt(r' (C M C')^-1 r)        N / sqrt(kg)

is the norm of that acceleration by kinetic energy: sqrt(m) times the acceleration, where all mass m moves
alike. Other coordinates, units, or combinations of the same equations give the same number. It is compared
with the real forces in the same directions, by the same norm: the largest of static ones (gravity), of
loads on links, and of what else the equations contain (springs, friction), over the times at which the same
equations hold. Motors have no part in it, however hard they work against each other. Where no real force
acts in those directions, as at the base of a robot that floats freely without gravity, it is compared with
the accelerations of all masses, sqrt(f' M^-1 f) for the inertial forces f = tau(q, v, a) - tau(q, 0, 0), or
with those that would stop them within the motion, sqrt(v' M v) / T, where these are larger: a body that spins
freely has none.

A path equation on torques, tau_pole = 0 for instance, is linearised by them: r = C tau + other forces.

Scales of equations, by component, are found on a motion; those of limits are `Constraint.side_scales`.

Standing feet are checked by their motion and the work of friction on them, from places and forces, not rows.

A foot that stands stays where it stands, along the axes that are held: |p(t) - p(t_0)| is zero for every
point of its sole. Friction takes power from what slides and never gives any: integral max(0, f_t . v) dt is
zero.

The balance of a robot on feet is the force and moment that its motion needs beyond the ground's:

    [m; f] = d/dt [angular; linear momentum] - gravity - sum of the loads on links

about the centre of mass, from the base wrench of inverse dynamics: zero where the ground alone carries the
robot, whatever coordinates describe its base.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT, REPEATED
from trajopt.checks.path_equations import (
    contains_torques,
    data_parts,
    inputs_of,
    least_sizes,
    part_sums,
    scale_of,
    torque_equations,
)
from trajopt.checks.peaks_between_nodes import dense_samples, mask_from_inside
from trajopt.graph.graph import ChainRule, Graph
from trajopt.graph.quantities import TORQUES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import dynamics_blocks, leaf_widths
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import FEASIBILITY, ROUNDING
from trajopt.splines.basis import Curve
from trajopt.splines.node_sets import PATH, MotionSamples
from trajopt.terms import term as terms
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term
    from trajopt.problem.contacts.contact import Contact


UNIT = "N/sqrt(kg)"


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """Torque equations, row by row, at times (K,).

    owners : constraint and component of every row, m of them
    residual : r = value - bound (K, m);  by_torque : C = dr/dtau (K, m, n);  holds : where, (K, m)
    """

    owners: tuple[tuple[Constraint, int], ...]
    residual: Array
    by_torque: Array
    holds: Array


def torque_rows(solution: Solution, equations: Sequence[Constraint], here: MotionSamples) -> TorqueRows:
    """Residuals and derivatives of these equations at the given times."""
    problem, n, count = solution.problem, solution.problem.dynamics.n, here.times.size
    needed = sorted({name for c in equations for name in inputs_of(problem, c.term)})
    u = solution.values([terms.Quantity(name) for name in needed], here.times)
    owners: list[tuple[Constraint, int]] = []
    residual, slopes, holds = [np.zeros((count, 0))], [np.zeros((count, 0, n))], [np.zeros((count, 0), bool)]
    for constraint in equations:
        equal = np.flatnonzero(constraint.lower == constraint.upper)
        value, slope = _by_torque(problem, constraint.term, u)
        owners += [(constraint, int(component)) for component in equal]
        residual.append(value[:, equal] - constraint.lower[equal])
        slopes.append(slope[:, equal])
        holds.append(np.repeat(constraint.over.mask(here)[:, None], equal.size, axis=1))
    r, C, where = (np.concatenate(parts, axis=1) for parts in (residual, slopes, holds))
    return TorqueRows(tuple(owners), r, C, where)


def torque_residual(solution: Solution, equations: Sequence[Constraint], times: Array) -> Array:
    """The least torques (K, n) without which all these equations hold at times (K,): C^+ r."""
    rows = torque_rows(solution, equations, MotionSamples.at(solution.curve, times))
    C, r = rows.by_torque * rows.holds[:, :, None], rows.residual * rows.holds
    if not (np.all(np.isfinite(C)) and np.all(np.isfinite(r))):
        return np.full((times.size, solution.problem.dynamics.n), np.nan)
    return (np.linalg.pinv(C, rcond=REPEATED) @ r[:, :, None])[:, :, 0]


def _by_torque(problem: Problem, term: Term, u: dict[str, Array]) -> tuple[Array, Array]:
    """Value (K, width) and derivative by the torques (K, width, n) of a term, all else held fixed."""
    inputs = inputs_of(problem, term)
    graph = Graph({name: u[name].shape[1] for name in inputs}, problem.blocks_of(term))
    values = graph.values({name: u[name] for name in inputs})
    chain = ChainRule(graph, [term.quantity], [], inputs)
    D = chain.jacobian(graph.partials(values), len(values[term.quantity]), np.dtype(float))
    # A torque on a link is one more of its motor: springs and dampers depend on the motion, not on tau.
    of_torques = [D[:, chain.rows[term.quantity], chain.columns[name]] for name in TORQUES if name in inputs]
    return values[term.quantity], np.sum(of_torques, axis=0)


@dataclass(frozen=True, eq=False)
class ResidualForces:
    """The torque equations that hold together, at k times out of those asked for.

    owners : constraint and component of every equation, m of them
    at : the places of the times, (k,)
    missing : |r| at each, (k,);  largest : of the real forces at all of them, the scale of `missing`
    inertia : sqrt of the largest (C M C')_ii, (m,): times `largest`, the scale of each equation by itself
    """

    owners: tuple[tuple[Constraint, int], ...]
    at: Array
    missing: Array
    largest: float
    inertia: Array


def residual_forces(solution: Solution, here: MotionSamples) -> list[ResidualForces]:
    """One entry for every set of torque equations that hold together at some of the times.

    Times at which something is no finite number are left out, and sets of equations in whose directions the
    dynamics has no inertia, as a model that is no mechanical system.
    """
    equations = torque_equations(solution.problem)
    if not equations or not here.times.size:
        return []
    rows, forces = torque_rows(solution, equations, here), _Forces.at(solution, here.times)
    known = np.isfinite(rows.residual) & np.isfinite(rows.by_torque).all(axis=2)
    finite = forces.finite & np.all(known | ~rows.holds, axis=1)
    found = []
    for together in np.unique(rows.holds, axis=0):
        at = np.flatnonzero((rows.holds == together).all(axis=1) & finite)
        if together.any() and at.size:
            found.append(_compared(rows, forces, np.flatnonzero(together), at))
    return [entry for entry in found if entry is not None]


def static_parts(
    solution: Solution, equations: Sequence[Constraint], here: MotionSamples
) -> dict[tuple[Constraint, int], float]:
    """sum_j |dr/dtau_j| (|static force| + |loads|)_j of torque equations, the largest at the given times.

    A constant weight is no part of a torque by its derivatives. Zero where something is no finite number.
    """
    rows, forces = torque_rows(solution, equations, here), _Forces.at(solution, here.times)
    parts = _times(np.abs(rows.by_torque), np.abs(forces.static) + np.abs(forces.loads))
    return dict(zip(rows.owners, finite_size(parts).tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Forces:
    """Forces (K, n) at times, and the inertia M (K, n, n).

    torques : under loads;  static : tau(q, 0, 0);  loads : what loads add;  inertial : the rest
    stopping : sqrt(v' M v) / T, (K,)
    """

    M: Array
    stopping: Array
    torques: Array
    static: Array
    loads: Array
    inertial: Array

    @staticmethod
    def at(solution: Solution, times: Array) -> _Forces:
        problem = solution.as_built
        leaves = leaf_widths(problem)
        graph = Graph(leaves, dynamics_blocks(problem, ["tau"], leaves).values())
        z, chain = solution.leaves(times), ChainRule(graph, ["tau"], [], list(graph.leaves))
        with np.errstate(all="ignore"):
            values = graph.values(z)
            slopes = chain.jacobian(graph.partials(values), times.size, np.dtype(float))
            still = {name: np.zeros_like(z[name]) for name in ("v", "a")}
            static = graph.values(z | still)["tau"]
            torques = solution.values([terms.tau], times)["tau"]
        M = slopes[:, chain.rows["tau"], chain.columns["a"]]
        M, v, unloaded = 0.5 * (M + M.transpose(0, 2, 1)), z["v"], values["tau"]
        stopping = np.sqrt(np.maximum(np.einsum("ki,kij,kj->k", v, M, v), 0.0)) / solution.duration
        return _Forces(M, stopping, torques, static, torques - unloaded, unloaded - static)

    @property
    def finite(self) -> Array:
        known = [self.torques, self.static, self.loads, self.inertial, self.M.reshape(len(self.M), -1)]
        return np.all(np.isfinite(np.concatenate(known, axis=1)), axis=1)


def _compared(rows: TorqueRows, forces: _Forces, own: Array, at: Array) -> ResidualForces | None:
    """The equations `own` at the times `at`; None where there is no inertia in their directions."""
    C, r = rows.by_torque[np.ix_(at, own)], rows.residual[np.ix_(at, own)]
    norm = _Norm.of(C @ forces.M[at] @ C.transpose(0, 2, 1))
    if norm is None:
        return None
    others = r - _times(C, forces.torques[at])
    real = [_times(C, forces.static[at]), _times(C, forces.loads[at]), others]
    largest = float(max(norm.size(force).max() for force in real))
    whole = _Norm.of(forces.M[at])
    inertial = 0.0 if whole is None else float(whole.size(forces.inertial[at]).max())
    moving = max(inertial, float(forces.stopping[at].max()))
    if largest <= AGREEMENT * moving:
        largest = moving
    return ResidualForces(
        tuple(rows.owners[row] for row in own),
        at,
        norm.size(r),
        largest if largest > ROUNDING else 1.0,
        norm.units.max(axis=0),
    )


@dataclass(frozen=True, eq=False)
class _Norm:
    """sqrt(f' A^+ f) for positive semi-definite A (k, m, m): units s_i = sqrt(A_ii), A = s root root' s."""

    units: Array
    root: Array

    @staticmethod
    def of(A: Array) -> _Norm | None:
        """None where A is not positive semi-definite, or is zero in some direction of its own."""
        diagonal = np.einsum("kii->ki", A)
        if not np.all(diagonal > 0.0):
            return None
        units = np.sqrt(diagonal)
        sizes, vectors = np.linalg.eigh(A / (units[:, :, None] * units[:, None, :]))
        if sizes.min() < -REPEATED:
            return None
        inverse = np.where(sizes > REPEATED, 1.0 / np.maximum(sizes, REPEATED), 0.0)
        return _Norm(units, vectors * np.sqrt(inverse)[:, None, :])

    def size(self, force: Array) -> Array:
        """The norms (k,) of forces (k, m)."""
        return np.linalg.norm(np.einsum("kij,ki->kj", self.root, force / self.units), axis=1)


def _times(C: Array, vectors: Array) -> Array:
    return np.einsum("kij,kj->ki", C, vectors)


def equation_scales(
    solution: Solution,
    equations: Sequence[Constraint],
    here: MotionSamples,
    forces: Sequence[ResidualForces] | None = None,
) -> dict[Constraint, Array]:
    """The scale (width,) of every equation and of every limit of zero, found at the given times.

    Of a torque equation over a part of the motion, the residual at which a force in its direction alone is as
    large as the largest real one (`residual_forces`); of others the largest sum of parts (`part_sums`), to
    which torque equations at single times add gravity and loads (`static_parts`). Of a limit of zero this is
    at most one unit, or the least that data add to its term (`least_sizes`): "cap" - u >= 0 is as large as
    its cap where that is lowest, between nodes too, but not where it is zero.

    forces : `residual_forces` at these times, where they are known
    """
    if not equations:
        return {}
    distinct = {c.term.quantity: c.term for c in equations}
    sums, scales = part_sums(solution, list(distinct.values()), here.times), {}
    for constraint in equations:
        found = sums[constraint.term.quantity]
        own = found[_times_of(constraint, here, solution.curve)] if constraint.holds_over_time else found
        scales[constraint] = scale_of(own) if constraint.scale is None else constraint.scale.copy()
    at_once = [c for c in equations if not c.holds_over_time and not c.over.is_difference]
    single = [c for c in at_once if contains_torques(solution.problem, c)]
    at_rest = static_parts(solution, single, here) if single else {}
    for (constraint, component), part in at_rest.items():
        scales[constraint][component] += part
    of_forces: dict[tuple[Constraint, int], float] = {}
    if forces is None:
        of_torques = scales.keys() & set(torque_equations(solution.problem))
        forces = residual_forces(solution, here) if of_torques else ()
    for together in forces:
        for owner, inertia in zip(together.owners, together.inertia, strict=True):
            scale = together.largest * float(inertia)
            of_forces[owner] = min(scale, of_forces.get(owner, np.inf))
    for (constraint, component), scale in of_forces.items():
        if constraint in scales:
            scales[constraint][component] = scale
    limits = {each: scales[each] for each in scales if each.zero_bounded.any() and each.scale is None}
    return scales | dict(_scales_beside_data(solution, limits, here))


def _scales_beside_data(
    solution: Solution, scales: Mapping[Constraint, Array], here: MotionSamples
) -> Iterator[tuple[Constraint, Array]]:
    """Limits of zero with their scales, at most one unit or the least that data add to the term, above it."""
    every = dense_samples(solution) if scales and solution.problem.datasets else here
    added = data_parts(solution, [each.term for each in scales], every.times)
    for limit, scale in scales.items():
        parts, times = added.get(limit.term.quantity, np.empty((0, limit.lower.size))), every.times
        if len(parts) and not limit.over.is_difference:
            there = _times_of(limit, every, solution.curve)
            parts, times = parts[there], times[there]
        zero = FEASIBILITY * np.minimum(finite_size(parts), scale)
        most = least_sizes(parts, times[: len(parts)], zero)
        most = np.where(np.isfinite(most), np.maximum(most, 1.0), 1.0)
        yield limit, np.where(limit.zero_bounded, np.minimum(scale, most), scale)


def _times_of(constraint: Constraint, here: MotionSamples, curve: Curve) -> Array:
    """The mask of the times over which a constraint holds; all of them where none of these is."""
    there = mask_from_inside(constraint.over, here, curve)
    return there if there.any() else np.ones_like(there)


def periodicity_scales(solution: Solution, here: MotionSamples) -> dict[str, Array]:
    """The scale (width,) of every periodicity by its quantity: its largest sum of parts at these times."""
    distinct = {p.term.quantity: p.term for p in solution.problem.periodicities}
    sums = part_sums(solution, list(distinct.values()), here.times)
    return {quantity: scale_of(found) for quantity, found in sums.items()}


MOST_SLIP = 1e-4  # m: rubber feet of robots creep as far; motions of the gallery slip less than 0.03 mm


@dataclass(frozen=True)
class StandingFeet:
    """The largest slip of a foot, and the most work of friction, over all stances.

    slip : m;  slipping : the foot and the time that this is of
    work : J that friction gives;  worked_on : the foot;  weight : N, of the robot
    """

    slip: float
    slipping: str
    slip_time: float
    work: float
    worked_on: str
    weight: float

    @property
    def reason(self) -> str:
        """Reason why the motion fails; empty where it does not. A number that is none fails."""
        if not self.slip <= MOST_SLIP:
            return (
                f"'{self.slipping}' stands but moves by {1e3 * self.slip:.3g} mm until "
                f"t = {self.slip_time:.6g} s; {1e3 * MOST_SLIP:g} mm is allowed: solve on more intervals"
            )
        if not self.work <= MOST_SLIP * self.weight:
            return (
                f"friction does {self.work:.3g} J of work on '{self.worked_on}' as it slides, and can only "
                f"take power; {MOST_SLIP * self.weight:.2g} J is allowed"
            )
        return ""

    def __str__(self) -> str:
        return (
            f"standing feet move by at most {1e3 * self.slip:.2g} mm ({self.slipping}), friction does at "
            f"most {self.work:.2g} J of work on one"
        )


def standing_feet(solution: Solution) -> StandingFeet | None:
    """Slip and work of all contacts that stand; None where none does."""
    problem = solution.problem
    contacts = [each for each in problem.contacts.values() if each.arcs]
    if not contacts or len(solution.curve.bases) != len(problem.trajectory.arcs):
        return None
    times = dense_samples(solution).times
    moved = [_moved(solution, foot, arcs, times) for foot in contacts for arcs in stances_of(foot)]
    works = [(_work(solution, foot, arcs, times), foot) for foot in contacts for arcs in stances_of(foot)]
    slip, time, slipping = max(moved, key=lambda each: np.nan_to_num(each[0], nan=np.inf))
    work, worked_on = max(works, key=lambda each: np.nan_to_num(each[0], nan=np.inf))
    return StandingFeet(slip, slipping.frame, time, work, worked_on.frame, slipping.weight)


def stances_of(foot: Contact) -> Iterator[list[int]]:
    """Arcs in which a foot stands one after the other, held along the same axes."""
    stance = [foot.arcs[0]]
    for arc in foot.arcs[1:]:
        if arc == stance[-1] + 1 and foot.held[arc] == foot.held[stance[-1]]:
            stance.append(arc)
        else:
            yield stance
            stance = [arc]
    yield stance


def _inside(solution: Solution, times: Array, arc: int) -> Array:
    first, last = solution.curve.starts[arc : arc + 2]
    return times[(times > first) & (times < last)]


def _moved(solution: Solution, foot: Contact, arcs: list[int], times: Array) -> tuple[float, float, Contact]:
    """The largest distance of a point from where the stance began, its time, and the foot."""
    arc, t = arcs[0], np.concatenate([_inside(solution, times, arc) for arc in arcs])
    term = ExpressionTerm(partial(foot.footing, arc=arc), f"{foot.frame} stands from arc {arc}")
    places = solution.value(term, t).reshape(t.size, -1, 3)
    away = (places - places[0]) @ _held_axes(foot, arc, places[0, 0]).T
    distance = np.linalg.norm(away, axis=-1).max(axis=1)
    at = int(np.argmax(distance))
    return float(distance[at]), float(t[at]), foot


def _work(solution: Solution, foot: Contact, arcs: list[int], times: Array) -> float:
    """J that friction gives during a stance, what it takes not counted."""
    work = 0.0
    for arc in arcs:
        t = _inside(solution, times, arc)
        power = ExpressionTerm(partial(foot.power, arc=arc), f"friction on {foot.frame}, arc {arc}")
        given = np.maximum(solution.value(power, t)[:, 0], 0.0)
        work += float(0.5 * np.diff(t) @ (given[1:] + given[:-1]))
    return work


def _held_axes(foot: Contact, arc: int, place: Array) -> Array:
    """(held, 3) the axes along which the foot is held where it touches down."""
    ground = foot.ground[arc]
    if len(foot.held[arc]) == np.size(place):
        return np.eye(np.size(place))
    axes = np.array([[float(x) for x in axis] for axis in ground.world_axes_at(place.tolist())])
    return axes[[ground.order.index(i) for i in foot.held[arc]]]


# Of a weight, and of a weight times the height, that may be missing. In simulations of measured motions
# Hicks et al., J. Biomech. Eng. 137(2), 020905 (2015), accept a residual force of 5 % of the external one,
# and a moment of 1 % of it times the height. Jumps of the gallery miss up to 1.3 %: `python -m
# benchmarks.legged`.
UNBALANCED = 0.05
STILL = (
    "a small cost of accelerations, problem.minimize(trajopt.a[6:] ** 2, 1e-5), keeps joints from "
    "swinging between nodes, which costs of torques alone allow"
)


@dataclass(frozen=True)
class BaseBalance:
    """The largest missing force and moment over all times sampled.

    force : in weights of the robot;  force_time : s
    moment : in weights times the height;  moment_time : s
    height : m, largest, of the centre of mass over the lowest foot
    """

    force: float
    force_time: float
    moment: float
    moment_time: float
    height: float

    @property
    def reason(self) -> str:
        """Reason why the motion fails; empty where it does not. A number that is none fails."""
        if self.force <= UNBALANCED and self.moment <= UNBALANCED:
            return ""
        allowed = f"{UNBALANCED:g} of each is allowed"
        return f"the ground does not carry the robot between nodes: {self}; {allowed}: {STILL}"

    def __str__(self) -> str:
        return (
            f"{self.force:.2g} weights of force are missing at t = {self.force_time:.6g} s, "
            f"{self.moment:.2g} weights times {self.height:.3g} m of moment at t = {self.moment_time:.6g} s"
        )


def base_balance(solution: Solution) -> BaseBalance | None:
    """The balance of a robot with contacts, no motor of whose base works; None of any other motion."""
    problem, dynamics = solution.problem, cast("Any", solution.problem.dynamics)
    contacts = problem.contacts
    base = getattr(dynamics, "floating_joints", ())
    if not contacts or not base or any(PATH not in problem.passive_joints.get(each, ()) for each in base):
        return None
    gravity, times = np.asarray(dynamics.gravity), dense_samples(solution).times
    weight = dynamics.total_mass * float(np.linalg.norm(gravity))
    centre, loads = terms.Quantity("centre_of_mass"), list(problem.loads.values())
    feet = [terms.position(frame) for frame in contacts]
    values = solution.values([terms.base_wrench, centre, *loads, *feet], times)
    wrench = values["base_wrench"] - sum(values[load.quantity] for load in loads)
    place, up = values["centre_of_mass"], -gravity / np.linalg.norm(gravity)
    lowest = np.min([values[foot.quantity] @ up for foot in feet], axis=0)
    height = float((place @ up - lowest).max())
    moment = wrench[:, :3] - np.cross(place, wrench[:, 3:])
    force, force_time = _largest(wrench[:, 3:] / weight, times)
    return BaseBalance(force, force_time, *_largest(moment / (weight * height), times), height)


def _largest(vectors: Array, times: Array) -> tuple[float, float]:
    """The largest length of vectors (k, 3), NaN where one is, and its time."""
    lengths = np.linalg.norm(vectors, axis=1)
    at = int(np.argmax(lengths))
    return float(lengths[at]), float(times[at])
