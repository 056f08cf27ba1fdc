"""`excite`: a periodic motion within a robot's limits that shows its dynamic parameters as well as it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

import dynamics
import trajopt
from problems.identification.criterion import Criterion, criterion_value
from problems.identification.estimation import model_of
from problems.identification.exciting_motion import ExcitingMotion
from problems.identification.information import InformationSolver, RegressorWeights
from problems.moves.motion_limits import MotionLimits, limits_of
from problems.moves.obstacles import clearances_of, keep_clear
from problems.moves.tasks.robot import Robot
from problems.moves.tasks.task_problem import limit_rows
from trajopt.base.arguments import check_choice, check_count, check_flag, check_positive, finite_numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ShapeError, UnboundedError, in_radians

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

DEGREE = 5  # of the spline: jerk is continuous, and smooth
NODES_PER_INTERVAL = 6
ROUNDS = 4  # of further solves, each with wider margins
MORE = 1.3  # times the excess between nodes, by which margins grow
LARGEST_SHARE = 0.5  # of a limit, that margins take
NEARLY = 0.1  # of a limit: an excess below it can be taken away by margins
GUESSES = 40  # random ones, of which the clearest are started from
HARMONICS = 4  # of a guess
MOST_INTERVALS = 1000  # of the spline: a solve takes minutes
LEAST_REACH = 0.05  # rad or m, of a guess that begins at a limit
SHARE = 0.6  # of the ranges of position and speed that a guess has
WEAK = 1e-9  # weight of the cost that the criterion takes the place of

Guess = Array | Callable[[Any], Array]  # samples (k, n), or a curve over shares of the duration


@trajopt.term
def squared_speed(node: Any) -> Any:
    """v'v, the cost of a problem whose objective the solver replaces."""
    import casadi

    return casadi.sumsqr(node.v)


def excite(
    robot: Robot | dynamics.RigidBodyModel,
    duration: float = 10.0,
    *,
    criterion: Criterion = "information",
    bandwidth: float = 1.0,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    jerk: Any = None,
    start: Any = None,
    at_rest: bool = True,
    scene: dynamics.Scene | None = None,
    clearance: float = 0.02,
    friction: bool = True,
    noise: Any = None,
    smoothing: float = 0.01,
    starts: int = 2,
    seed: int = 0,
    iterations: int = 200,
) -> ExcitingMotion:
    """A periodic motion from which `estimate` learns most about the robot's dynamic parameters.

    duration : s, of one period; bandwidth : Hz, half the number of spline intervals per second
    criterion : "information", the smallest confidence ellipsoid, or "condition", the least condition number
        of the regressor with columns scaled to one; see `criterion.py`
    velocity, acceleration, torque, jerk : limits, as in `moves.retime`; None: those of the robot, or none
    start : (n,) where it begins and ends; None: where it is best
    at_rest : whether speed and acceleration are zero there, so that a robot at rest can begin it
    scene, clearance : obstacles, and the distance, m, that shapes keep from them and from each other. Without
        a scene a robot with shapes keeps clear of itself
    friction : whether friction is among the parameters
    noise : (n,) or one, of measured torques; None: in proportion to the torque limits where all have one
    smoothing : of Coulomb friction, as in `estimate`
    starts : random guesses, seeded by `seed`, that are improved; the best answer within limits is returned
    iterations : most of the solver for each
    Torque limits hold for the parameters that `robot` has: leave a margin where they are not known. The
    certificate of the motion tells what holds. Raises UnboundedError for a joint that nothing limits,
    InfeasibleBoundsError for a start beyond limits or in collision, ShapeError and OptionError.
    """
    model = model_of(robot)
    sizes = {"duration": duration, "bandwidth": bandwidth, "smoothing": smoothing, "clearance": clearance}
    for what, value in sizes.items():
        check_positive(what, value)
    check_choice("criterion", criterion, get_args(Criterion))
    check_count("starts", starts, 1)
    check_count("iterations", iterations, 1)
    check_flag("friction", friction)
    check_flag("at_rest", at_rest)
    limits = limits_of(model, velocity, acceleration, torque, jerk)
    _check_limited(model, limits)
    clearances, begin = clearances_of(model, scene or dynamics.Scene(), clearance), _start_of(model, start)
    _check_free(clearances, clearance, begin)
    base, weights = dynamics.base_parameters(model, friction), _weights(model, limits, noise)
    search = ExcitationSearch(
        model,
        limits,
        RegressorWeights(model, base, weights, float(smoothing)),
        clearances,
        float(clearance),
        begin,
        bool(at_rest),
        float(duration),
        _intervals(bandwidth, duration),
        criterion,
        int(iterations),
    )
    return search.best(starts, seed)


@dataclass(frozen=True)
class Margins:
    """Margins by which limits are narrowed at nodes so that they hold between them, too.

    share : of every limit; distance : of clearances, m
    """

    share: float = 0.01
    distance: float = 1e-3

    def beyond(self, motion: ExcitingMotion) -> Margins:
        """Margins that would have kept a motion within its limits, and a little more."""
        shares = [line.excess for line in motion.certificate.lines if line.name != "clearance"]
        depths = [line.excess for line in motion.certificate.lines if line.name == "clearance"]
        grown = [max(max(each, default=0.0), 0.0) for each in (shares, depths)]
        return Margins(min(self.share + MORE * grown[0], LARGEST_SHARE), self.distance + MORE * grown[1])


def rank(motion: ExcitingMotion, criterion: Criterion) -> tuple[float, float]:
    """Smaller for better motions: those within limits before others, the least excess first."""
    excess = 0.0 if motion.converged else motion.certificate.excess
    coarse = 0.0 if excess < NEARLY else excess
    return (coarse if excess else -1.0, criterion_value(criterion, motion.information())[0])


@dataclass(frozen=True, eq=False)
class ExcitationSearch:
    """The arguments of `excite`, checked; `best` searches.

    clearances : None where nothing can be touched; clearance : m
    start : (n,) rad or m, None where it is free; duration : s
    intervals : of the spline; iterations : most of one solve
    """

    model: dynamics.RigidBodyModel
    limits: MotionLimits
    regressor: RegressorWeights
    clearances: Clearances | None
    clearance: float
    start: Array | None
    at_rest: bool
    duration: float
    intervals: int
    criterion: Criterion
    iterations: int

    def best(self, starts: int, seed: int) -> ExcitingMotion:
        """The best of answers from the clearest guesses, with its limits held between nodes, too."""
        rng = np.random.default_rng(seed)
        guesses = [self._guess(rng) for _ in range(max(GUESSES, starts))]
        if self.clearances is not None:
            guesses.sort(key=self._depth)
        margins = Margins()
        found = [self._solved(guess, guess, margins) for guess in guesses[:starts]]
        number = min(range(starts), key=lambda k: rank(found[k], self.criterion))
        motion, path = found[number], guesses[number]
        for _ in range(ROUNDS):
            if motion.converged:
                break
            margins = margins.beyond(motion)
            again = self._solved(motion.q_of_share, path, margins)
            motion = min(motion, again, key=lambda each: rank(each, self.criterion))
        return motion

    def _solved(self, guess: Guess, path: Array, margins: Margins) -> ExcitingMotion:
        from trajopt.solvers.ipopt import Ipopt

        own = Ipopt(hessian="lbfgs", max_iterations=self.iterations)
        solution = trajopt.solve(
            self._problem(guess, path, margins),
            InformationSolver(own, self.regressor, self.criterion),
            refine=None,
            starts=1,
            coarse_to_fine=False,
            progress="silent",
        )
        return ExcitingMotion(
            self.model, self.limits, solution.curve, self.regressor, self.clearances, self.clearance
        )

    def _problem(self, guess: Guess, path: Array, margins: Margins) -> trajopt.Problem:
        mesh = trajopt.Trajectory.uniform(self.intervals, DEGREE, self.duration, NODES_PER_INTERVAL)
        problem = trajopt.Problem(self.model, mesh, name="excitation")
        problem.minimize(squared_speed, weight=WEAK)
        limit_rows(problem, self.model, self.limits, margins.share, hold="nodes")
        problem.subject_to_periodic(trajopt.q)
        if self.start is not None:
            problem.start_at(q=self.start)
        if self.at_rest:
            problem.start_at(v=0.0, a=0.0)
            problem.end_at(v=0.0, a=0.0)
        else:
            problem.subject_to_periodic(trajopt.v)
            problem.subject_to_periodic(trajopt.a)
        if self.clearances is not None:
            keep_clear(problem, self.clearances, self.clearance + margins.distance, path)
        problem.guess(guess)
        return problem

    def _guess(self, rng: np.random.Generator) -> Array:
        """Samples (k, n) of sines of random sizes about the middle of the ranges, or the start."""
        limits, (lower, upper) = self.limits, _ranges(self.model)
        middle = 0.5 * (lower + upper) if self.start is None else self.start
        reach = SHARE * np.clip(np.minimum(upper - middle, middle - lower), LEAST_REACH, np.pi)
        s = np.linspace(0.0, 1.0, 8 * self.intervals + 1)[:, None]
        orders = np.arange(1, HARMONICS + 1)[:, None, None]
        sizes = rng.normal(size=(HARMONICS, 1, self.model.n)) / np.sqrt(orders)
        phases = rng.uniform(0.0, 2.0 * np.pi, sizes.shape)
        wave = np.sum(sizes * (np.sin(2.0 * np.pi * orders * s + phases) - np.sin(phases)), axis=0)
        rate = np.abs(np.gradient(wave, self.duration / (len(s) - 1), axis=0)).max(axis=0)
        size = np.minimum(reach / np.abs(wave).max(axis=0), SHARE * limits.velocity / rate)
        return middle + size * wave

    def _depth(self, guess: Array) -> float:
        """Depth of a guess in the bodies it should keep clear of, m; negative where it is clear."""
        assert self.clearances is not None
        return -float(self.clearances.distances(guess).min())


def _intervals(bandwidth: float, duration: float) -> int:
    """Number of intervals of the spline; OptionError where there are too many."""
    wanted = 2.0 * bandwidth * duration
    if wanted > MOST_INTERVALS:
        raise OptionError(
            f"bandwidth = {bandwidth:g} Hz over duration = {duration:g} s takes {wanted:.0f} intervals: at "
            f"most {MOST_INTERVALS} are computed with, so give a shorter period, and run it several times"
        )
    return max(int(np.ceil(wanted)), 2 * DEGREE)


def _ranges(model: dynamics.RigidBodyModel) -> tuple[Array, Array]:
    """Limits of positions; half a turn, or pi m, beyond zero or the other limit where there is none."""
    lower, upper = model.limits.q_lower, model.limits.q_upper
    low = np.where(np.isfinite(lower), lower, np.minimum(-np.pi, upper - 2.0 * np.pi))
    return low, np.where(np.isfinite(upper), upper, np.maximum(np.pi, low + 2.0 * np.pi))


def _check_limited(model: dynamics.RigidBodyModel, limits: MotionLimits) -> None:
    """UnboundedError for joints whose movement nothing limits."""
    sizes = [limits.velocity, limits.acceleration, limits.torque_upper - limits.torque_lower]
    free = np.all(~np.isfinite([np.broadcast_to(size, (model.n,)) for size in sizes]), axis=0)
    if free.any():
        raise UnboundedError(
            f"joint {model.joint_names[int(np.argmax(free))]!r} has no limit of speed, acceleration or "
            "torque, so that no motion excites most: give velocity=, acceleration= or torque="
        )


def _weights(model: dynamics.RigidBodyModel, limits: MotionLimits, noise: Any) -> Array:
    """(n,) 1 / noise^2; where no noise is given, as if in proportion to the torque limits."""
    if noise is not None:
        size = finite_numbers(noise, "noise")
        if size.shape not in ((), (model.n,)):
            raise ShapeError(f"noise has shape {size.shape}: give one number or ({model.n},), one per joint")
        for value in np.atleast_1d(size):
            check_positive("noise", float(value))
        return np.broadcast_to(size, (model.n,)) ** -2.0
    largest = np.maximum(np.abs(limits.torque_lower), np.abs(limits.torque_upper))
    return largest**-2.0 if np.all(np.isfinite(largest)) else np.ones(model.n)


def _check_free(clearances: Clearances | None, clearance: float, start: Array | None) -> None:
    """InfeasibleBoundsError for a start that is nearer to something than the clearance."""
    if clearances is None or start is None:
        return
    distances = clearances.distances(start[None])[0]
    nearest = int(np.argmin(distances))
    if distances[nearest] < clearance:
        raise InfeasibleBoundsError(
            f"start: {clearances.pair_name(nearest)} have a clearance of {distances[nearest]:.3g} m, less "
            f"than the {clearance:g} m that is asked for"
        )


def _start_of(model: dynamics.RigidBodyModel, start: Any) -> Array | None:
    if start is None:
        return None
    q = finite_numbers(start, "start")
    if q.shape != (model.n,):
        raise ShapeError(f"start has shape {q.shape}: give ({model.n},), a position of every joint")
    outside = (q < model.limits.q_lower) | (q > model.limits.q_upper)
    if outside.any():
        joint = int(np.argmax(outside))
        name = model.joint_names[joint]
        turns = {each.name: each.kind for each in model.joints}[name] == "revolute"
        raise InfeasibleBoundsError(
            f"start: joint {name!r} is at {q[joint]:.6g}, beyond its limits "
            f"{model.limits.q_lower[joint]:.6g} to {model.limits.q_upper[joint]:.6g}"
            f"{in_radians(q[joint]) * turns}"
        )
    return q
