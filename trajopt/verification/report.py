"""The report of a verification: a verdict, PASS or FAIL, its reason, and the figures that led to it.

One motion is reported as phases are, as the only part of the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import fill, indent

import numpy as np

from trajopt.base.arguments import LISTED, list_names
from trajopt.base.errors import printable
from trajopt.base.facts import Facts
from trajopt.base.tolerances import AGREEMENT, AT_TIMES, BETWEEN, ESTIMATED, LIMIT_ACCURACY, LOOSEST, OPTIMAL
from trajopt.checks.integral_checks import CostCheck
from trajopt.checks.line import Line, worst_of_each
from trajopt.checks.path_equations import EquationResidual, cost_of_equations
from trajopt.checks.residual_forces import STILL, BaseBalance, StandingFeet
from trajopt.checks.simulation import USEFUL_GROWTH, Simulation
from trajopt.problem.costs_and_constraints import Relaxation
from trajopt.solution.solution import Answer
from trajopt.solvers.kkt import KKT
from trajopt.verification.minimality import Minimality
from trajopt.verification.optimum_error import OptimumError, error_of_optimum

COARSE_ABOVE = BETWEEN  # of all costs: an error of the optimum as large as a cost may be off between nodes
COARSE = "solve on more intervals, or with refine=trajopt.Refined()"
DIAGNOSE = "solution.diagnose() names what to look at"
JUMPS = (
    ", or jumps at a node, t = {:.6g} s, where rounding decides its value: solve on one interval more, make "
    "the transition smooth (by np.tanh) or let phases (trajopt.Phases) meet there"
)
STEPPED = (
    "; the limit jumps inside an interval, t = {:.6g} s, which no node mends: let phases (trajopt.Phases) "
    "meet there, or state steps at known times as data, interpolation='steps', over a fixed duration"
)
OWN_SCALE = "; zero is compared with one unit here: a term of another size takes its own, scale=..."
LABEL = 30  # characters, the least width of a report's first column
WIDTH = 108  # characters of a line
SMOOTHER = "continuity=2 where arcs meet, and a degree of 3 or more, keep accelerations continuous"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Report:
    """The result of a verification: PASS where no reason stands against it. Printed are three lines.

    The verdict, the largest excess over limits, and what is proved; `table` has every line as text.

    Violations are in the units of their constraint. Of phases the names of violations, equations and costs
    begin with their phase's.

    kkt : KKT residuals, recomputed where `kkt_recomputed`, else those of `kkt_of_solve`
    kkt_of_solve : those that the solver ended with
    accuracy : relative, between nodes: of the scale of an equation, an integral, a cost
    limit_accuracy : the same of limits over time, of their size
    answer : of which all this is; None of one phase of several
    violations : of every bounded component of every constraint, at nodes and between them
    equations : residuals of the path equations, those that the spline meets identically among them
    costs : the costs, recomputed
    simulation : of the solution's torques; None where there is none, for the reason `unsimulated`
    free_simulation : without the torques by which equations are missed; None where no equation has any
    resolution : seconds, the largest step between samples
    differences : what the solution reports inconsistently with its motion, in words
    norms : which norm needs another least value; empty where none does
    minimality : whether the stationary motion is a minimum, as far as that was looked at
    balance : of a robot on feet, the force and moment that are missing between nodes; None of others
    feet : how far feet that stand move, and the work of friction on them; None where none stands
    designs : properties of the robot that follow from parameters, and their values
    unbuilt : why a robot with these properties cannot exist; empty where it can
    unsaved : parts of the problem that the file does not hold, which were not looked at
    dependent : of a solve that did not converge, its remedy, or rows that depend on each other at its end
    unmended : whether nodes were added for limits that are still exceeded between nodes
    refined : reason why the solve halved intervals no further; empty where it halved none
    objective : sum of all costs
    relaxations : parts of the problem that gave way to its start before it was solved: the rest is checked
    rounding : objectives below are rounding errors: 1e-13 divided by the factor of the costs in the NLP
    phases : (name, report) of every phase, with what it shares held at its value; none of one motion
    links : every component of every link, and of the parameters that several phases have, their bounds too
    together : what a solution reports of all phases together inconsistently with their motions, in words
    """

    title: str
    kkt: KKT
    kkt_of_solve: KKT
    kkt_recomputed: bool
    accuracy: float = BETWEEN
    limit_accuracy: float = LIMIT_ACCURACY
    converged: bool = True
    status: str = ""
    answer: Answer | None = None
    violations: tuple[Line, ...]
    simulation: Simulation | None = None
    unsimulated: str = "the dynamics offers no forward dynamics"
    equations: tuple[EquationResidual, ...] = ()
    costs: tuple[CostCheck, ...] = ()
    objective: float = 0.0
    free_simulation: Simulation | None = None
    resolution: float = 0.0
    differences: tuple[str, ...] = ()
    norms: str = ""
    minimality: Minimality = field(default_factory=Minimality)
    designs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    unbuilt: str = ""
    unsaved: tuple[str, ...] = ()
    dependent: str = ""
    unmended: bool = False
    refined: str = ""
    rounding: float = 0.0
    balance: BaseBalance | None = None
    feet: StandingFeet | None = None
    relaxations: tuple[Relaxation, ...] = ()
    phases: tuple[tuple[str, Report], ...] = ()
    links: tuple[Line, ...] = ()
    together: tuple[str, ...] = ()

    @property
    def named_parts(self) -> tuple[tuple[str, Report], ...]:
        """(name, report) of every phase; of one motion the report itself, without a name."""
        return self.phases or (("", self),)

    @property
    def reason(self) -> str:
        """The most important reason why the solution fails; empty where none does."""
        if self.phases:
            of_phases = (f"phase '{name}': {part.reason}" for name, part in self.phases if part.reason)
            return self._reason_at_nodes() or next(of_phases, "")
        on_feet = (each.reason for each in (self.balance, self.feet) if each is not None)
        wrong = self._reason_at_nodes() or self._reason_between() or next(filter(None, on_feet), "")
        return f"{wrong}; {self.norms}" if wrong and self.norms else wrong

    @property
    def holds_at_nodes(self) -> bool:
        """True if all holds at the nodes, to 1e-6 of each scale, and between phases, and it is optimal."""
        return not self._reason_at_nodes() and all(part.holds_at_nodes for _, part in self.phases)

    @property
    def kkt_error(self) -> float:
        """The largest residual of the optimality conditions."""
        return self.kkt.error

    @property
    def holds(self) -> bool:
        """The verdict: whether nothing was found to be wrong."""
        return not self.reason

    @property
    def verdict(self) -> str:
        """ "PASS" or "FAIL"."""
        return "PASS" if self.holds else "FAIL"

    @property
    def lines(self) -> tuple[Line, ...]:
        """The violations, then the links of phases."""
        return (*self.violations, *self.links)

    @property
    def max_violation_nodes(self) -> float:
        """The largest violation at nodes and of links, each in its own unit; NaN where one is."""
        return float(np.max([0.0, *(line.node_violation for line in self.lines)]))

    @property
    def max_violation_dense(self) -> float:
        """The largest violation at nodes, between them and of links; NaN where one is."""
        return float(np.max([0.0, *(line.dense_violation for line in self.lines)]))

    @property
    def largest_excess(self) -> Line | None:
        """The limit over time that is exceeded most between nodes, relative to its size; None: there is none.

        NaN is the largest.
        """
        limits = (v for v in self.violations if v.is_limit_over_time)
        return max(limits, key=lambda v: np.nan_to_num(v.dense_relative, nan=np.inf), default=None)

    @property
    def cost_of_equations(self) -> float | None:
        """First-order amount by which the objective is too low because path equations are missed."""
        return cost_of_equations(self.equations)

    def worst(self, count: int = 5) -> tuple[Line, ...]:
        """The components violated most at nodes, largest first; those that are not finite before all."""
        violated = [v for v in self.violations if not v.node_violation <= 0.0]
        return tuple(sorted(violated, key=lambda v: -np.nan_to_num(v.node_violation, nan=np.inf))[:count])

    def _not_optimal(self, what: str) -> str:
        """`what` and both KKT errors, where this one is above an optimum's and what the solve left."""
        if self.kkt_error <= max(OPTIMAL, min(ESTIMATED * self.kkt_of_solve.error, LOOSEST)):
            return ""
        reported = f"{self.kkt_of_solve.error:.2g} by the solution"
        return f"{what}: KKT error {self.kkt_error:.2g}, {reported}"

    @cached_property
    def _of_optimum(self) -> OptimumError:
        """The estimate, by one more solve the first time that it is asked for."""
        if self.answer is None or not self.costs or not self.holds or self.minimality.crossed:
            return OptimumError(None)
        certificates = [part.certificate for part in self.answer.parts]
        certified = all(each is not None and each.holds for each in certificates)  # which says more
        missed = sum(abs(cost.value - cost.integral) for cost in self.costs if cost.zero)
        missed = max(missed, abs(self.cost_of_equations or 0.0))
        return OptimumError(None) if certified else error_of_optimum(self.answer, missed)

    @property
    def error_of_optimum(self) -> float | None:
        """Estimate of how far the objective is from that of the finest mesh; None where there is none.

        See `verification/optimum_error.py`: it takes one more solve, on halved intervals.
        """
        return self._of_optimum.value

    @property
    def optimum(self) -> str:
        """The estimate in words, or why there is none; empty without PASS, and where a certificate holds."""
        error, reason = self._of_optimum
        if self.holds and self.minimality.crossed:
            return self.minimality.crossed
        if error is None:
            return (
                reason and f"locally optimal on this mesh; no estimate of the error of the optimum: {reason}"
            )
        objective = sum(cost.value for cost in self.costs)
        text = f"locally optimal on this mesh; error of the optimum about {error:.2g} of {objective:.7g}"
        return text + f": {COARSE}" * bool(self._off_optimum)

    @property
    def _off_optimum(self) -> str:
        """Distance of a coarse mesh from the optimum, in words; empty up to 1 % of all costs."""
        error, sizes = self.error_of_optimum or 0.0, [cost.size for cost in self.costs]
        share = error / max(sum(sizes), *(cost.total for cost in self.costs)) if error else 0.0
        return f" on a coarse mesh, about {100 * share:.2g} % from the optimum" * bool(share > COARSE_ABOVE)

    @property
    def _kkt_source(self) -> str:
        return "recomputed" if self.kkt_recomputed else "as the solution reports, not recomputed"

    def __repr__(self) -> str:
        return str(self._facts())

    def _repr_html_(self) -> str:
        """The facts, and all lines behind a click."""
        return self._facts().html(details=self.table)

    def _facts(self) -> Facts:
        """The verdict, the reason, and the largest numbers."""
        gap, worst = self.simulation_error, () if self.holds else self.worst(LISTED)
        rows = [
            ("reason", self.reason),
            ("solve", self.title),
            ("accuracy", f"{self.accuracy:.2g} between nodes, of limits {self.limit_accuracy:.2g}"),
            ("at nodes", f"largest violation {self.max_violation_nodes:.3g}"),
            ("between", f"largest violation {self.max_violation_dense:.3g}"),
            ("optimum", self.optimum),
            ("KKT error", f"{self.kkt_error:.3e}"),
            ("simulation", "" if gap is None else f"gap {gap:.1e}, restarted at every knot"),
            *(("violated", str(violation)) for violation in worst),
            *(("relaxed", str(each)) for each in self.relaxations[:LISTED]),
        ]
        return Facts(f"Report: {self.verdict}{self._off_optimum}", rows, good=self.holds)

    def _reason_at_nodes(self) -> str:
        if not self.converged:
            named = f"; {self.dependent}" if self.dependent else ""
            return f"the solve did not converge ({self.status}){named}"
        if self.phases:
            return self._reason_of_links()
        if self.unbuilt:
            return f"the robot of these parameters cannot exist: {self.unbuilt}"
        if missing := self._reason_not_finite():
            return missing
        worst = max(self.violations, key=lambda v: v.node_relative, default=None)
        allowed = min(AT_TIMES, self.accuracy)
        if worst is not None and worst.node_relative > allowed:
            return (
                f"{worst.label}: violated by {_with_unit(worst.node_violation, worst.unit)} at a node, "
                f"t = {worst.node_time:.6g} s, {worst.node_relative:.2g} of its scale; {allowed:.0e} allowed"
                + _own_scale(worst)
            )
        for cost in self.costs:
            if not cost.changed <= AT_TIMES:
                jumps = "" if np.isnan(cost.jump) else JUMPS.format(cost.jump)
                return (
                    f"cost '{cost.name}': {cost.value:.8g} by the solution, {cost.by_nodes:.8g} by its "
                    f"motion in this problem, whose cost must have changed{jumps}"
                )
        if wrong := self._not_optimal("the motion is not optimal") or self.minimality.reason:
            return wrong
        if self.minimality.gain > self.accuracy:
            return (
                f"the motion is not optimal: multipliers times distances from their limits sum to "
                f"{self.minimality.gain:.2g} of the costs, {self.accuracy:.2g} is allowed; solve with a "
                "smaller tolerance"
            )
        if self.differences:
            return f"the solution is inconsistent with its motion: {self.differences[0]}"
        if self.unsaved:
            return (
                f"the file does not hold {list_names(self.unsaved)}: these and optimality were not checked; "
                "pass the problem, Solution.load(path, problem=...)"
            )
        return ""

    def _reason_of_links(self) -> str:
        allowed = min(AT_TIMES, self.accuracy)
        for link in self.links:
            if not link.dense_relative <= allowed:
                return (
                    f"link {link.label}: missed by {link.value:.4g}, {link.dense_relative:.2g} of its scale; "
                    f"{allowed:.0e} allowed"
                )
        wrong = self._not_optimal("the phases are not optimal together") or self.minimality.reason
        if self.together and not wrong:
            return f"the solution is inconsistent with its motions: {self.together[0]}"
        return wrong

    def _reason_not_finite(self) -> str:
        for v in self.violations:
            for value, when in ((v.node_relative, v.node_time), (v.dense_relative, v.dense_time)):
                if np.isnan(value):
                    return f"{v.label}: not a finite number at t = {when:.6g} s"
        for cost in self.costs:
            if not np.isfinite(cost.integral):
                return f"cost '{cost.name}': not a finite number at t = {cost.time:.6g} s"
        if self.simulation is not None and np.isnan(self.simulation.restarted):
            return "the forward simulation of the torques is not finite"
        return "" if np.isfinite(self.kkt_error) else f"the KKT error is {self.kkt_error}"

    def _reason_between(self) -> str:
        worst = max(self.violations, key=lambda v: v.dense_relative / self._allowed(v), default=None)
        if worst is not None and np.isinf(worst.dense_relative):
            where = f"t = {worst.dense_time:.6g} s, where the velocity or the acceleration jumps"
            return f"{worst.label}: infinite at {where}; {SMOOTHER}"
        if worst is not None and worst.dense_relative > self._allowed(worst):
            what = "missed" if worst.equation else "violated"
            whose = "scale" if worst.equation else "size"
            return (
                f"{worst.label}: {what} by {_with_unit(worst.dense_violation, worst.unit)} between nodes, "
                f"t = {worst.dense_time:.6g} s, {worst.dense_relative:.2%} of its {whose} "
                f"{_with_unit(worst.scale, worst.unit)}; {self._allowed(worst):.2g} of it is allowed"
                + self._remedy(worst)
                + _own_scale(worst)
            )
        # Parts that cancel in the objective do not lower the size of the costs. Where it is no more than
        # rounding, what equations change has no measure but their own scales.
        gain, size = self.cost_of_equations, max(abs(self.objective), *(c.total for c in self.costs), 0.0)
        if gain is not None and size > self.rounding and not abs(gain) <= self.accuracy * size:
            return (
                f"the residuals of path equations change the objective by {gain:.3g} of {size:.6g}, the "
                f"integral of the sizes of all costs, to first order; {self.accuracy:.2g} of it is allowed"
            )
        for cost in self.costs:
            if not cost.relative <= self.accuracy:  # NaN where the solution reports no such cost
                exact = "exact " if cost.smoothed else ""
                return (
                    f"cost '{cost.name}': {cost.value:.8g} at the nodes, but its {exact}integral is "
                    f"{cost.integral:.8g}; {self.accuracy:.2g} is allowed"
                )
        return ""

    def _allowed(self, violation: Line) -> float:
        """The largest violation of a component that is allowed between nodes, relative to its scale."""
        return self.limit_accuracy if violation.is_limit_over_time else self.accuracy

    def _remedy(self, missed: Line) -> str:
        """The refinement that reduces what is missed between nodes, as the end of a sentence."""
        if not missed.over_time:
            return ""
        still = "" if self.balance is None else f"; {STILL}"
        if missed.equation and self.refined:
            tried = f"; halving intervals there was tried ({self.refined})"
            return f"{tried}: solve on more, or in phases that meet at the jumps{still}"
        if missed.equation:
            return f"; refine=trajopt.Refined(tol={self.accuracy:.2g}) halves intervals there{still}"
        if missed.stepped is not None:
            return STEPPED.format(missed.stepped)
        if self.unmended:
            return "; nodes that were added for limits did not mend it: solve on more intervals"
        given = "" if self.limit_accuracy == LIMIT_ACCURACY else f"accuracy={self.limit_accuracy:.2g}"
        return f"; refine=trajopt.LimitNodes({given}) adds nodes there"

    @property
    def simulation_error(self) -> float | None:
        """Largest gap of the simulations restarted at every knot; None where a part has none."""
        gaps = [getattr(part.simulation, "restarted", None) for _, part in self.named_parts]
        return None if None in gaps else float(np.max(np.array(gaps, dtype=float)))

    @property
    def simulation_error_end_to_end(self) -> float | None:
        """Gap of the simulation from start to end; None where there is none."""
        return getattr(self.simulation, "end_to_end", None)

    def summary(self) -> dict[str, object]:
        """The numbers that `summary.json` holds."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "accuracy": self.accuracy,
            "limit_accuracy": self.limit_accuracy,
            "largest_excess": None if self.largest_excess is None else self.largest_excess.dense_relative,
            "max_violation_nodes": self.max_violation_nodes,
            "max_violation_dense": self.max_violation_dense,
            "kkt_error": self.kkt_error,
            "error_of_optimum": self.error_of_optimum,
            "simulation_error": self.simulation_error,
            "simulation_error_end_to_end": self.simulation_error_end_to_end,
            "equations": {equation.label: equation.summary() for equation in self.equations},
            "cost_of_equations": self.cost_of_equations,
            "differences": list(self.differences),
            "designs": {name: list(value) for name, value in self.designs.items()},
            "free_simulation_error": getattr(self.free_simulation, "restarted", None),
            "free_simulation_error_end_to_end": getattr(self.free_simulation, "end_to_end", None),
            "balance": None if self.balance is None else vars(self.balance),
            "feet": None if self.feet is None else vars(self.feet),
            "relaxations": list(map(str, self.relaxations)),
        }

    def __str__(self) -> str:
        return printable("\n".join(self._first_lines()))

    def _first_lines(self) -> tuple[str, str, str]:
        """The verdict, the largest excess over limits, and what was proved, sampled or not looked at."""
        parts = dict.fromkeys([self, *(part for _, part in self.named_parts)])
        not_looked_at = dict.fromkeys(part.minimality.note for part in parts)
        known = (self._known(), *not_looked_at, self.optimum)
        return self._verdict_line(), self._excess_line(), "; ".join(text for text in known if text)

    def _verdict_line(self) -> str:
        if not self.holds:
            return f"FAIL: {self.reason}; {DIAGNOSE}"
        relaxed = ", as relaxed at the start," if self.relaxations else ""
        stated = "all phases and links" if self.phases else "all constraints"
        return (
            f"PASS{self._off_optimum}: {stated}{relaxed} hold to {min(AT_TIMES, self.accuracy):.0e} of their "
            f"scale at nodes, to {self.accuracy:.2g} between them, limits to {self.limit_accuracy:.2g}"
        )

    def _excess_line(self) -> str:
        largest = self.largest_excess
        if largest is None:
            return "largest excess over limits between nodes: no limit over time was looked at"
        if largest.dense_relative == 0.0:
            return "largest excess over limits between nodes: none was seen"
        percent = f"{100.0 * largest.dense_relative:.2g} %"
        where = f"{largest.label}, t = {largest.dense_time:.4g} s"
        return f"largest excess over limits between nodes: {percent} ({where})"

    def _known(self) -> str:
        """The number of constraints over time that are proved, and how far apart samples of others are."""
        over_time = [line for line in self.violations if line.evidence != "evaluated"]
        proved, count = sum(line.evidence == "proved" for line in over_time), len(over_time)
        if not over_time:
            return "nothing is stated between nodes" if self.violations else "the motion was not looked at"
        known = f"proved for all times: {proved} of {count} constraints"
        if proved == count:
            return f"{known} over time"
        steps = [line.resolution for line in over_time if line.evidence != "proved"]
        apart = f"sampled at most {max(self.resolution, *steps):.2g} s apart, which may miss shorter peaks"
        return f"{known} over time, the others are {apart}"

    @property
    def table(self) -> str:
        """All lines as text: the verdict, every constraint, costs, optimality and simulation."""
        first = [fill(line, WIDTH) for line in self._first_lines()]
        lines = [*first, self.title, *Relaxation.lines(self.relaxations), ""]
        return printable("\n".join([*lines, *(self._of_phases() if self.phases else self._of_motion())]))

    def _of_phases(self) -> Iterator[str]:
        """The links, and the tables of all phases."""
        if self.links:
            width = max(LABEL, *(len(link.label) for link in self.links)) + 2
            yield f"{'link':<{width}}{'missed by':>10}{'of scale':>10}"
            for link in self.links:
                yield f"{link.label:<{width}}{link.value:>10.3e}{link.dense_relative:>10.1e}"
        yield from (f"inconsistent with the motions: {difference}" for difference in self.together)
        yield f"KKT error of all phases {self.kkt_error:.3e}, {self._kkt_source}"
        for name, part in self.phases:
            yield from ("", f"phase '{name}'", indent(part.table, "  "))

    def _of_motion(self) -> list[str]:
        named = self._rows()
        width = max([len(label) for label, _ in named] + [LABEL]) + 2
        lines = [
            f"{'constraint':<{width}}{'at nodes':>10}{'t [s]':>9}{'between':>11}{'t [s]':>9}{'of scale':>9}"
            "  evidence"
        ]
        for label, v in named:
            dense = f"{v.dense_violation:>11.3e}{_time_column(v.dense_time)}"
            where = f"{'nodes only':>11}{'':>9}" if v.nodes_only else dense
            share = np.max([v.node_relative, v.dense_relative, 0.0])
            at_nodes = f"{v.node_violation:>10.3e}{_time_column(v.node_time)}"
            figures = f"{at_nodes}{where}{share:>9.1e}  {v.evidence:<9} {v.unit}"
            lines.append(f"{label:<{width}}{figures}".rstrip())
        inconsistent = [f"inconsistent with the motion: {difference}" for difference in self.differences]
        rest = [*self._equation_lines(width), "", *inconsistent, *self._cost_lines(), *self._last_lines()]
        return [*lines, *rest]

    def _rows(self) -> list[tuple[str, Line]]:
        shown = worst_of_each(self.violations, _largest_relative)
        whole = len(shown) == len(self.violations)
        return [(v.label if whole or _largest_relative(v) > 0.0 else v.name, v) for v in shown]

    def _equation_lines(self, width: int) -> list[str]:
        missed = [equation for equation in self.equations if not equation.relative <= AGREEMENT]
        exact = len(self.equations) - len(missed)
        if not missed:
            return []
        lines = ["", f"{'path equation':<{width}}{'|residual|':>11}{'t [s]':>9}{'of scale':>9}{'cost':>11}"]
        for e in missed:
            cost = "unknown" if e.cost is None else f"{e.cost:+.2e}"
            figures = f"{e.residual:>11.3e}{_time_column(e.time)}{e.relative:>9.1e}{cost:>11} {e.unit}"
            lines.append(f"{e.label:<{width}}{figures}".rstrip())
        if exact:
            lines.append(f"{exact} more hold identically")
        return lines

    def _cost_lines(self) -> list[str]:
        off = [cost for cost in self.costs if not cost.relative <= AGREEMENT]
        return [
            f"cost '{cost.name}': {cost.value:.8g} at the nodes, {cost.integral:.8g} by a finer quadrature"
            for cost in off
        ]

    def _last_lines(self) -> list[str]:
        lines = [
            f"KKT error {self.kkt_error:.3e} (stationarity {self.kkt.stationarity:.3e}, complementarity "
            f"{self.kkt.complementarity:.3e}), {self._kkt_source}",
        ]
        if self.designs:
            named = (f"{name} {' '.join(f'{x:.6g}' for x in value)}" for name, value in self.designs.items())
            lines.append(f"robot: {'; '.join(named)}")
        lines += [
            f"{v.label}: residual up to {_with_unit(v.pointwise, v.unit)} at single times, as where controls "
            "jump within an interval; judged by what it changes of the state"
            for v in self.violations
            if v.pointwise is not None
        ]
        if self.balance is not None:
            lines.append(f"balance between nodes: {self.balance}")
        if self.feet is not None:
            lines.append(str(self.feet))
        if self.simulation is None:
            return [*lines, f"forward simulation: left out, {self.unsimulated}"]
        lines += _simulation_lines("forward simulation", self.simulation)
        if self.free_simulation is not None:
            lines += _simulation_lines("without residual torques,", self.free_simulation)
        return lines


def _own_scale(violated: Line) -> str:
    """The end of a sentence on a limit of zero over time whose term is larger than one unit."""
    bounded = np.isfinite([violated.lower, violated.upper])
    of_zero = bounded.sum() == 1 and violated.limit == 0.0
    return OWN_SCALE if of_zero and violated.over_time and violated.least_scale == 1.0 else ""


def _simulation_lines(what: str, simulation: Simulation) -> list[str]:
    useless = f" or more (errors grow more than {USEFUL_GROWTH:.0e} times: says little)"
    note = "" if simulation.end_to_end_is_useful else useless
    return [
        f"{what} restarted at every knot: gap {simulation.restarted:.3e}",
        f"{what} end to end: gap {simulation.end_to_end:.3e}{note}",
    ]


def _time_column(time: float) -> str:
    """A time in nine characters, the first of which is empty, so that columns stay apart."""
    return " " + (f"{time:>8.4f}" if abs(time) < 1000.0 else f"{time:>8.6g}")


def _largest_relative(v: Line) -> float:
    """The larger relative violation; infinite where it is NaN."""
    return float(np.nan_to_num(np.max([v.node_relative, v.dense_relative, 0.0]), nan=np.inf))


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".rstrip()
