"""A primal-dual interior-point method with exact Hessian whose matrix is a band in the order of time.

Barrier problem, filter, inertia correction and the scaling of errors are IPOPT's (Wachter and Biegler, Math.
Program. 106, 2006). Slacks and multipliers are eliminated, so that the matrix of a step has the size of the
unknowns, whose rows couple what is near in time: with a hundred unknowns and ten times as many limits most of
IPOPT's time goes into the rest.

A run of the method is its start, its steps and how it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np

from trajopt.base.arguments import check_positive
from trajopt.solvers.interior.line_search import LAST, BarrierRule, LineSearch, centred, filter_entry, takes
from trajopt.solvers.interior.newton_step import CondensedSystem, Direction, NewtonStep, Residuals, Shifts
from trajopt.solvers.interior.restoration import Restoration
from trajopt.solvers.interior.slack_program import PUSH, Iterate, Multipliers, Point, SlackProgram, Slopes
from trajopt.solvers.ipopt import WRONG, Ipopt
from trajopt.solvers.kkt import divides, is_optimal_to_rounding, multipliers_of
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.run import SolverSettings, continued, gave_up
from trajopt.solvers.solver import (
    FEASIBILITY,
    FURTHER_ROWS,
    LITTLE,
    ROUNDING,
    Program,
    Result,
    Run,
    StartKind,
    Status,
    WarmStart,
)


@dataclass(frozen=True)
class InteriorSteps(SolverSettings):
    """The method without IPOPT, with the settings of `InteriorPoint`.

    STEP_TOO_SMALL where it gets stuck or takes too many steps; INFEASIBLE where the violation is least nearby
    and not zero, with what is in conflict in the `detail`, and by which sum of violations of scaled rows.
    """

    feasibility: float = FEASIBILITY
    barrier: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("barrier", self.barrier, optional=True)

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """True if it is made for a program, which it solves from the multipliers of a start."""
        return start is not None and start.has_multipliers and _is_made_for(nlp)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        monitor = self._monitor(nlp, start, run, shorten=True)
        with monitor.interruptible(), np.errstate(all="ignore"):
            one = InteriorPointRun(monitor, self.tol, run.start_kind, self.barrier)
            return one.result(self.max_iterations)


@dataclass(frozen=True)
class InteriorPoint(InteriorSteps):
    """The settings of one run of the interior-point method.

    tol             largest scaled KKT error at which the solve counts as converged
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen
    barrier         first barrier parameter, at which all products of gaps and multipliers begin; None: the
                    mean gap of the start, with multipliers of one. Starts with multipliers give their own

    The time of a step grows with the number of intervals, and with the cube of the unknowns of one, in
    arms, systems and robots on feet. Where the method gets stuck or takes more than 150 steps, IPOPT goes on
    from the best point if that meets the rows, else from the start, from which it judges limits in conflict,
    too. It also solves programs that this method is not made for, without second derivatives or with as many
    equations as unknowns. Such a solve ends with IPOPT's answer, and its `detail` says so.

    Raises OptionError on construction for a value out of range.
    """

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        return f"own, LAPACK of scipy {version('scipy')}"

    @property
    def alone(self) -> InteriorSteps:
        """These steps without IPOPT."""
        return InteriorSteps(**vars(self))

    @property
    def _ipopt(self) -> Ipopt:
        return Ipopt(self.tol, self.max_iterations, feasibility=self.feasibility)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        later = Run(callback=run.callback).within(self.time_limit)
        if not _is_made_for(nlp):
            return self._ipopt.solve(nlp, start, later)
        first = self.alone.solve(nlp, start, replace(later, start_kind=run.start_kind))
        if not gave_up(first):
            return first
        left = self.max_iterations - first.iterations - 1
        if left < 0:
            return replace(first, status=Status.ITERATION_LIMIT, detail="")
        note = f"by IPOPT after {first.iterations} steps"
        rest = replace(self._ipopt, max_iterations=left)
        size = max(1.0, float(np.abs(nlp.start if start is None else start.y).max(initial=0.0)))
        near = FEASIBILITY * np.abs(first.y).max(initial=0.0) <= size
        near &= first.status is Status.STEP_TOO_SMALL and first.infeasibility <= self.feasibility
        if first.status is Status.INFEASIBLE:  # or its restorations end and begin for up to 1000 iterations
            rest = replace(rest, options={"expect_infeasible_problem": "yes"})
        # From a point that misses rows, steps that did not meet them would be made once more
        result = continued(first, rest, nlp, WarmStart(first.y) if near else start, later)
        if result is first:
            return first
        is_met = result.converged or result.infeasibility <= self.feasibility < first.infeasibility
        told = (result.detail, note, "" if is_met else first.detail)
        return replace(result, detail="; ".join(filter(None, told)))


DenseInteriorPoint = InteriorPoint  # the name that it had while its matrices were dense


def _is_made_for(nlp: Program) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    ordered = getattr(nlp, "unknown_spans", None) is not None
    # Without an order in time the band is a full matrix
    return bool(nlp.has_hessian and equations < free and (ordered or free <= 1500))


def _effective_count(z: np.ndarray) -> float:
    """(sum z)^2 / sum z^2 of z >= 0, at least 1: k where k of them are alike and the others zero."""
    squares = float(z @ z)
    return max(1.0, float(z.sum()) ** 2 / squares) if squares > 0.0 else 1.0


FARTHEST = 1e10  # kappa_Sigma: between z t / mu and its inverse


class InteriorPointRun:
    """The iterates of one solve."""

    def __init__(
        self,
        monitor: Monitor,
        tol: float,
        start_kind: StartKind | None = None,
        barrier: float | None = None,
    ) -> None:
        self.monitor, self.tol, self.barrier = monitor, tol, barrier
        self.lacks_rows = start_kind is StartKind.SAME_MOTION
        self.program, self.shifts = SlackProgram(monitor), Shifts()
        self.entries: list[tuple[float, float]] = []
        self.first = 0.0  # violation where the filter begins
        self.length = np.nan  # largest change of an unknown in the last step
        self.restoration: Restoration | None = None

    def result(self, most: int) -> Result:
        """The optimum, or the best iterate; STEP_TOO_SMALL where it gets stuck or takes too many steps.

        After an optimum to a tolerance that is coarse, a few more steps make the rows hold better than that:
        rows of large slopes are scaled by these, and curves would not meet to what reports ask for. Rows of
        many spans are known to less than the tolerance: there the steps end where they make rows no better.
        """
        monitor, number, optimum, before = self.monitor, 0, None, np.inf
        little = max(LITTLE * self.tol, SolverSettings.tol)
        try:
            at, rule = self._start()
            while True:
                residuals, answer = Residuals(self.program, at), self.program.answer(at)
                goes_on = monitor.iterate(
                    number, answer, at.point.rows, at.point.f, residuals.dual, self.length
                )
                # Multipliers that grow without limit divide the error away: without them it counts, too.
                steepest = max(1.0, float(np.abs(at.slopes.g).max(initial=0.0)))
                allowed = WRONG * steepest if divides(residuals.dual_scale) else self.tol
                error = residuals.error()
                if self.tol < error <= FEASIBILITY:
                    error = residuals.error_beyond_rounding()
                if error <= self.tol and residuals.undivided_dual() <= allowed:
                    optimum = answer
                if optimum is not None:
                    if residuals.violation <= little or residuals.violation > 0.5 * before:
                        break
                    before = residuals.violation
                if not goes_on or number in (most, 150):  # robots on feet take up to 100 steps, others 30
                    break
                stepped = self._step(at, residuals, rule) if self.restoration is None else None
                if stepped is None and residuals.violation > self.tol:
                    stepped = self._restored(at, rule)
                if stepped is None:
                    if residuals.error() <= FEASIBILITY and is_optimal_to_rounding(
                        monitor.nlp, answer, self.tol
                    ):
                        return monitor.result(Status.CONVERGED, answer, number, "")
                    break
                at, number = stepped, number + 1
        except Refusal:
            pass  # the monitor knows why
        if optimum is not None:
            return monitor.result(Status.CONVERGED, optimum, number, "")
        if self.restoration is not None and self.restoration.conflict:
            return monitor.result(Status.INFEASIBLE, None, number, self.restoration.conflict)
        status = Status.ITERATION_LIMIT if number == most else Status.STEP_TOO_SMALL
        return monitor.result(status, None, number, "")

    def _start(self) -> tuple[Iterate, BarrierRule]:
        """The start, moved off limits, with multipliers and the rule of its barrier parameter.

        Known multipliers z of gaps t give it: mu is the mean of z |t| over as many limits as have them, so
        that others do not lower it; gaps are at least mu / z, and z = mu / t from there. Equations that are
        missed do not raise it, as they say nothing of gaps.
        """
        program, start = self.program, self.monitor.start
        x, count, multipliers, barrier = start.y[program.free], program.rows.size, None, 0.0
        if start.has_multipliers:
            multipliers = self._known(start)
            gaps = np.abs(program.gaps(np.concatenate([program.rows_at_start, x[program.bounded]])))
            mean = float(gaps @ multipliers.z) / _effective_count(multipliers.z)
            # Above 1e-3 the start is left: an energy budget disturbed by 1 % takes 40 steps for 11
            barrier = FURTHER_ROWS if self.lacks_rows else min(max(LAST * self.tol, mean), 1e-3)
            rounding = ROUNDING * np.maximum(1.0, np.abs(program.limit))  # of gaps: they must not be zero
            apart = np.maximum(barrier / np.maximum(multipliers.z, np.sqrt(barrier)), rounding)
        else:
            apart = PUSH * np.minimum(np.maximum(1.0, np.abs(program.limit)), program.widths)
        s = program.inside(np.concatenate([np.zeros(count), x[program.bounded]]), apart)
        x[program.bounded] = s[count:]
        s[:count] = program.factors * self.monitor.rows(program.whole(x))[program.rows]
        point = program.point(x, program.inside(s, apart))
        slopes = program.slopes(x)
        if multipliers is not None:
            z = barrier / point.t
            multipliers.y[: program.slack_count] = -program.by_slack(program.sign * z)
            multipliers = Multipliers(multipliers.y, z)
        else:
            z = np.ones(point.t.size) if self.barrier is None else self.barrier / point.t
            multipliers = self._estimate(slopes, z)
            barrier = float((z * point.t).mean()) if z.size else 0.0
        return Iterate(point, slopes, multipliers), BarrierRule(barrier, self.tol)

    def _known(self, start: WarmStart) -> Multipliers:
        program = self.program
        rows, low, high = multipliers_of(program.nlp, start)
        own = program.free[program.bounded]
        y = np.concatenate([rows[program.rows] / program.factors, (high - low)[own], rows[program.equations]])
        return Multipliers(y, np.maximum(-program.sign * y[program.side], 0.0))

    def _estimate(self, slopes: Slopes, z: np.ndarray) -> Multipliers:
        """These z, and the multipliers of the equations by least squares."""
        program, count = self.program, self.program.slack_count
        y = np.zeros(program.layout.row_count)
        y[:count] = -program.by_slack(program.sign * z)
        if not program.equations.size:
            return Multipliers(y, z)
        layout, flexibility, right = program.layout, np.zeros(y.size), -y
        flexibility[:count] = 1.0
        right[count:] = 0.0
        none = np.zeros(layout.H_rows.size)
        system = CondensedSystem(layout, none, slopes.values, flexibility, Shifts(), least=1.0)
        estimate = system.solve(-slopes.g, right)[1]
        usable = np.abs(estimate).max(initial=0.0) <= 1e3  # larger estimates are not used
        return Multipliers(estimate if usable else y, z)

    def _step(self, at: Iterate, residuals: Residuals, rule: BarrierRule) -> Iterate | None:
        """The next iterate; None where no step is acceptable."""
        rule.observe(residuals)
        newton = NewtonStep(self.program, at, rule.barrier, self.shifts)
        shift = newton.system.shift
        # Only multipliers without limit ask for such a shift of H: rows that are violated go before
        if shift is None or (shift > 1e4 and residuals.violation > FEASIBILITY):
            self.shifts.last = 0.0
            return None
        if rule.is_free and at.point.t.size:
            target, found = rule.corrected(newton, residuals), None
            if target is not None:
                found = self._searched(newton, rule, *centred(newton, target, rule.barrier))
            found = found or self._searched(newton, rule, rule.barrier)
            if found is not None:
                return found
            rule.hold(residuals)
        return self._searched(newton, rule, rule.barrier)

    def _restored(self, at: Iterate, rule: BarrierRule) -> Iterate | None:
        """The next iterate of a restoration, which ends where the filter takes it; None where it is stuck."""
        if self.restoration is None:
            self.entries.append(filter_entry(at.point, rule.barrier))
            self.restoration = Restoration(self.program, at, rule.barrier, self.tol)
            at = self.restoration.begun(at)
        stepped, self.length = self.restoration.step(at), self.restoration.length
        if stepped is None:
            return None
        point = stepped.point
        if self.restoration.has_restored(point) and takes(self.entries, point, rule.barrier):
            self.restoration = None
            return stepped._replace(multipliers=self._estimate(stepped.slopes, rule.barrier / point.t))
        return stepped

    def _searched(
        self,
        newton: NewtonStep,
        rule: BarrierRule,
        target: np.ndarray | float,
        step: Direction | None = None,
    ) -> Iterate | None:
        """The next iterate on the way to z t = target, None where the line search finds none.

        step : the direction there, where it is known
        """
        if rule.is_new:
            self.entries, self.first, rule.is_new = [], newton.at.point.violation, False
        search = LineSearch(newton, rule.barrier, self.entries, self.first)
        step = newton.direction(target) if step is None else step
        found = search.found(step, target)
        if found is None:
            return None
        point, length = found
        if not search.descends(length):
            self.entries.append(search.entry)
        self.length = float(np.abs(point.x - newton.at.point.x).max())
        return self._moved(newton, rule.barrier, step, point, length)

    def _moved(
        self, newton: NewtonStep, barrier: float, step: Direction, point: Point, length: float
    ) -> Iterate:
        """The iterate at an accepted point: y goes with the unknowns, z as far as it stays positive."""
        y, z = newton.at.multipliers
        z, around = z + newton.lengths(step)[1] * step.dz, barrier / point.t
        multipliers = Multipliers(y + length * (step.y - y), np.clip(z, around / FARTHEST, around * FARTHEST))
        return Iterate(point, self.program.slopes(point.x), multipliers)
