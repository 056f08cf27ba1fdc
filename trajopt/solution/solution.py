"""`trajopt.Solution`: curves to evaluate, costs, multipliers, the end of its solve, its checks and files."""

from __future__ import annotations

import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import numbers, pluralize, short_repr
from trajopt.base.arrays import Array, one_blas_thread
from trajopt.base.errors import OptionError, near_matches, printable
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import Term, Values
from trajopt.graph.quantities import TIME_LEAVES, parameter_leaf, quantity_of
from trajopt.problem.constraints.designs import as_built
from trajopt.problem.costs_and_constraints import Relaxation
from trajopt.problem.phases import Asked
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.rebuilt_problem import rebuilt_problem
from trajopt.solution.records import JournalTable, RefinementRecord, SolveRecord
from trajopt.solvers.solver import Status, WarmStart
from trajopt.splines.basis import SAME_TIME, Curve
from trajopt.splines.knots import with_spans_halved
from trajopt.splines.trajectory import Nodes, Trajectory
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.certificates.certificate import Certificate
    from trajopt.display.curves import Samples
    from trajopt.parametric.covariance import Covariance
    from trajopt.parametric.sensitivity import Sensitivity
    from trajopt.transcription.nlp import Scaling
    from trajopt.verification.diagnosis import Diagnosis
    from trajopt.verification.report import Report


# What users ask a solution for by name -> the quantity of a robot.
QUANTITIES = {
    "torque": "tau",
    "effort": "tau",
    "position": "q",
    "velocity": "v",
    "acceleration": "a",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answer(SolveRecord, ABC):
    """The answer of a solve: the motion of a problem, or those of phases; `status` says whether it converged.

    asked : the problem, or the phases, that were solved
    named_parts : (name, solution) of every phase; of a single problem its own solution, without a name
    journal : the table of all solves that led here
    point : the solver's own unknowns and all multipliers, scaled; a start for another solve
    scaling : the factors of that program's rows and objective, by which multipliers fit one scaled otherwise
    """

    status: Status
    journal: JournalTable = field(default_factory=JournalTable)
    history: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))
    point: WarmStart | None = None
    scaling: Scaling | None = None
    if TYPE_CHECKING:
        objective: Any  # a field of one, a property of the other
        cost_terms: Mapping[str, float]
        multipliers: Mapping[str, NDArray[np.float64]]

    @property
    @abstractmethod
    def asked(self) -> Asked: ...

    @property
    @abstractmethod
    def named_parts(self) -> tuple[tuple[str, Solution], ...]: ...

    @property
    @abstractmethod
    def duration(self) -> float:
        """Seconds, of all phases together."""

    @property
    def parts(self) -> tuple[Solution, ...]:
        """The solutions of all phases; of a single problem its own."""
        return tuple(part for _, part in self.named_parts)

    @property
    def converged(self) -> bool:
        return self.status.converged

    @property
    def size_of_costs(self) -> float:
        """The sum of the sizes of all costs, weighted: what parts of the objective are compared with."""
        return float(sum(map(abs, self.cost_terms.values())))

    @property
    def ended(self) -> str:
        """The end of the solve, in words."""
        ended = "converged" if self.converged else f"not converged ({self.status.value})"
        return ended + " to a feasible point" * (self.status is Status.FEASIBLE_POINT)

    @property
    def remedy(self) -> str:
        """The change of the problem without which no solve converges; empty where none is known."""
        explained = (Status.NOT_ENOUGH_FREEDOM, Status.UNBOUNDED, Status.NO_BEST_DURATION)
        return self.detail if self.status in explained else ""

    @property
    def title(self) -> str:
        """The answer in a few lines, as `print` shows them but for characters that a terminal obeys."""
        ended = self.ended + f": {self.remedy};" * bool(self.remedy)
        starts, refinement = self.journal.starts, self.journal.refinement
        known = "" if starts is None else f"; {starts.known}"
        lines = [
            f"{self.name}: {ended} in {pluralize(self.iterations, 'iteration')}, {self.seconds:.3f} s; "
            f"duration {self.duration:.7g} s, objective {self.objective:.7g}{known}"
        ]
        for name, part in self.named_parts:
            if name:
                lines.append(f"  {name}: duration {part.duration:.7g} s, objective {part.objective:.7g}")
        lines += [] if refinement is None else [refinement.verdict()]
        lines += [f"warning: {self.warning}"] * bool(self.warning)
        return "\n".join(lines)

    @property
    def relaxed(self) -> tuple[Relaxation, ...]:
        """Relaxations of all parts whose problem is at hand, as it is but for a file that was just read."""
        known = [part.known_problem for part in self.parts]
        return tuple(each for problem in known if problem is not None for each in problem.relaxations)

    def __str__(self) -> str:
        return printable("\n".join([self.title, *Relaxation.lines(self.relaxed)]))

    def refined_by(self, record: RefinementRecord | None) -> Self:
        """This answer with another record of the rounds of its refinement."""
        return replace(self, journal=replace(self.journal, refinement=record))

    def asked_on(self, *trajectories: Trajectory) -> Any:
        """The problem, or the phases, on other trajectories of as many arcs, guessed by these motions."""
        asked = self.asked.on(*trajectories)
        asked.guess(self)
        return asked

    def on_halved_spans(self) -> Any:
        """The problem, or the phases, with every span of these motions halved, guessed by them."""
        meshes = [mesh_of(part) or part.problem.trajectory for part in self.parts]
        return self.asked_on(*map(with_spans_halved, meshes))

    # -- doors to rooms above ---------------------------------------------------------------------------

    def diagnose(self) -> Diagnosis:
        """Diagnosis of a solve that failed or got stuck: limits in conflict, equations that repeat others."""
        from trajopt.verification.diagnosis import diagnose

        return diagnose(self.asked, solution=self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz file that `load` reads; the file appears whole or not at all."""
        from trajopt.archive.solution_archive import save

        save(self, path)

    def sample(self, rate: float = 100.0) -> Samples:
        """The motion at 0, 1/rate, 2/rate ... and at its end, as columns with names and units; rate in Hz.

        solution.sample(1000)["tau elbow"]        # (K,) N m

        Each phase is sampled from its own start: "t" goes on, "phase" is its number, and what a phase does
        not have is NaN in it.
        """
        from trajopt.display.curves import samples_of

        return samples_of(self, rate)

    def to_csv(self, path: str | os.PathLike[str], rate: float = 100.0) -> None:
        """Write `sample(rate)` as comma-separated values, units in the first line, "q elbow [rad]"."""
        self.sample(rate).to_csv(path)

    def to_dataframe(self, rate: float = 100.0) -> Any:
        """`sample(rate)` as a `pandas.DataFrame`; OptionError where pandas is not installed."""
        return self.sample(rate).to_dataframe()

    def sensitivity(self, input: str) -> Sensitivity:
        """Derivatives of this optimum by an input of its problem, or of phases: "q_end", "torque_limits" ...

            solution.sensitivity("q_end").duration        # (m,) seconds per radian

        The inputs are those that `trajopt.compile(problem).inputs` lists, data excepted. Derivatives are
        those of the optimum that keeps its active constraints. Raises UnknownNameError for what is no input,
        OptionError for a solution that did not converge, EvaluationError where the optimum has no derivative.
        """
        from trajopt.parametric.sensitivity import sensitivity

        return sensitivity(self, input)

    def covariance(self, measurements: int | None = None, variance: float | None = None) -> Covariance:
        """The covariance of the parameters, where the objective is a sum of squared residuals.

            solution.covariance(measurements=40).intervals()      # (P, 2), 95 % confidence

        measurements : how many numbers were measured, from which and the residuals their variance follows
        variance : of a residual, where it is known: 1.0 if residuals are divided by their deviations
        Twice the variance times the inverse of the reduced Hessian at the fit, `parametric/covariance.py`; it
        is exact for linear models, otherwise of first order in the errors. Raises OptionError for other
        objectives, EvaluationError where the measurements do not determine the parameters.
        """
        from trajopt.parametric.covariance import covariance

        return covariance(self, measurements, variance)

    def __repr__(self) -> str:
        from trajopt.display.facts import solution_facts

        return str(solution_facts(self))

    def _repr_html_(self) -> str:
        from trajopt.display.facts import solution_card

        return solution_card(self)

    @property
    def limit_excess(self) -> float:
        """Largest excess of a limit over time, relative to its size: 0.001 is 0.1 %.

        Sampled between the nodes, which takes about a millisecond; 0 where all such limits hold.
        """
        from trajopt.checks.constraint_checks import limit_peaks

        return max(limit_peaks(part).largest for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Answer):
    """A motion with its costs and multipliers, and how the solver ended; converged or not, see `status`.

    multipliers : constraint name -> (rows, width), in units of objective per unit of the constraint; positive
        where an upper limit holds the optimum back, negative at a lower one; of "state equations" they are
        -lambda w T with the costate lambda, the node's weight w and the arc's duration T
    cost_terms : cost name -> its weighted value; their sum is `objective`
    point, scaling, journal, run : how it was found, see `Answer`
    altered : contradictions within the file that this was read from; empty where there are none
    statement : what a script stated, of a file that holds it, see `archive/problem_statement.py`
    """

    curve: Curve
    parameters: Mapping[str, NDArray[np.float64]]
    joint_names: tuple[str, ...]
    objective: float
    cost_terms: Mapping[str, float]
    multipliers: Mapping[str, NDArray[np.float64]]
    node_times: NDArray[np.float64]
    known_problem: Problem | None = None
    certificate: Certificate | None = None
    extra_points: tuple[tuple[float, ...], ...] = ()  # normalised times of nodes that were added, by arc
    limit_points: tuple[tuple[float, ...], ...] = ()  # the same of nodes for limits alone
    altered: tuple[str, ...] = ()
    statement: Mapping[str, object] | None = None

    @property
    def asked(self) -> Problem:
        return self.problem

    @property
    def named_parts(self) -> tuple[tuple[str, Solution], ...]:
        return (("", self),)

    @property
    def contradictions(self) -> Iterator[str]:
        """Contradictions of its file, or of an objective that is not the sum of its costs."""
        for each in self.altered:
            yield f"the file contradicts itself: {each}"
        costs = list(self.cost_terms.values())
        total, slack = sum(costs, 0.0), AGREEMENT * sum(map(abs, costs))
        if not np.isclose(self.objective, total, rtol=0.0, atol=slack, equal_nan=True):
            yield f"objective: {self.objective:.9g}, but its costs add up to {total:.9g}"

    # -- curves -------------------------------------------------------------------------------------------

    @property
    def _n(self) -> int:
        return len(self.joint_names)

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.curve.duration

    @property
    def knot_times(self) -> NDArray[np.float64]:
        return self.curve.knot_times

    def q(self, t: ArrayLike) -> NDArray[np.float64]:
        """Joint positions at t (...,) in [0, duration], (..., n)."""
        return self.curve(t)[..., : self._n]

    def v(self, t: ArrayLike) -> NDArray[np.float64]:
        """Joint velocities, (..., n)."""
        return self.curve(t, 1)[..., : self._n]

    def a(self, t: ArrayLike) -> NDArray[np.float64]:
        """Joint accelerations, (..., n)."""
        return self.curve(t, 2)[..., : self._n]

    def jerk(self, t: ArrayLike) -> NDArray[np.float64]:
        """Third derivatives, (..., n)."""
        return self.curve(t, 3)[..., : self._n]

    def tau(self, t: ArrayLike) -> NDArray[np.float64]:
        """Joint torques and forces by inverse dynamics, (..., n) N m or N."""
        return self.value(terms.tau, t)

    def wrench(self, t: ArrayLike) -> NDArray[np.float64]:
        """Wrenches that joints transmit to their links, [moment; force] in link axes, (..., n, 6)."""
        several = [terms.wrench(joint) for joint in self.driven_joints]
        values = self.values(several, t)
        return np.stack([values[term.quantity] for term in several], axis=-2)

    def rotation(self, link: str) -> Callable[[ArrayLike], NDArray[np.float64]]:
        """The rotation of a link or frame, R(t) (..., 3, 3): its axes, as columns, in those of the world.

            R = solution.rotation("trunk")(0.2)

        Raises UnknownNameError of `dynamics` for a name that the robot does not have.
        """
        term = terms.Quantity(f"orientation:{link}")
        self._graph([term])  # refuses an unknown name here, not at the first time
        return lambda t: self.value(term, t).reshape(*np.shape(t), 3, 3)

    def value(self, term: Term, t: ArrayLike) -> NDArray[np.float64]:
        """Any term at times t (...,), (..., width)."""
        return self.values([term], t)[term.quantity]

    def values(self, several: Sequence[Term], t: ArrayLike) -> Values:
        """Several terms at once: quantity -> (..., width)."""
        time = numbers(t, "the times")
        graph = self._graph(several)
        asked = [term.quantity for term in several]
        flat = graph.values(self.leaves(time.ravel(), graph.inputs.union(asked)))
        return {name: flat[name].reshape(*time.shape, flat[name].shape[-1]) for name in asked}

    # -- the problem --------------------------------------------------------------------------------------

    @cached_property
    def problem(self) -> Problem:
        """The problem that was solved; rebuilt from its recipe where this solution was read from a file."""
        if self.known_problem is not None:
            return self.known_problem
        return rebuilt_problem(self)

    @property
    def relaxations(self) -> tuple[Relaxation, ...]:
        """Parts of the problem that gave way to a measured start; see `Problem.start_at`."""
        return self.asked.relaxations

    @cached_property
    def as_built(self) -> Problem:
        """The problem with a robot whose designed properties are numbers, those of `parameters`.

        The problem itself where nothing is designed, or where `unbuilt` says why there is no such robot.
        """
        problem = self.problem
        return as_built(problem, self.parameters) if problem.designs and not self.unbuilt else problem

    @cached_property
    def unbuilt(self) -> str:
        """Reason why the robot that the parameters design cannot exist; empty where it can."""
        try:
            if self.problem.designs:
                as_built(self.problem, self.parameters)
        except ValueError as error:
            return str(error)
        return ""

    @property
    def extra_widths(self) -> dict[str, int] | None:
        """Number of components of every additional curve; None where the problem is not at hand."""
        problem = self.known_problem or vars(self).get("problem")  # the one rebuilt from a file's recipe
        return None if problem is None else problem.extra_widths

    @property
    def limits(self) -> Any:
        """Joint limits of the dynamics."""
        return self.problem.dynamics.limits

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """Names of the joints that have torques: `joint_names`, or those of a robot on a path."""
        table = self.problem.quantities
        named = table.knows("tau") and not table.is_per_joint("tau")
        return (table.components("tau") if named else ()) or self.joint_names

    def _graph(self, several: Sequence[Term]) -> Graph:
        graphs: dict[tuple[str, ...], tuple[list[Term], Graph]] = vars(self).setdefault("_graphs", {})
        quantities = tuple(map(quantity_of, several))
        known = graphs.get(quantities)
        if known is None or known[0] != several:
            known = graphs[quantities] = list(several), graph_of(self.as_built, several)
        return known[1]

    def leaves(self, time: Array, needed: Container[str] | None = None) -> Values:
        """The leaves of every graph at times (K,): quantity -> (K, width); of the spline's, those needed."""
        of_curves = self.problem.spline_leaves
        if needed is not None:
            of_curves = {name: leaf for name, leaf in of_curves.items() if name in needed}
        read = [(leaf.order, leaf.curves) for leaf in of_curves.values()]
        derivatives = self.curve.derivatives(time, {order for order, _ in read}, read)
        leaves: Values = {name: derivatives[leaf.order][:, leaf.curves] for name, leaf in of_curves.items()}
        column = np.ones((time.size, 1))
        seconds = (time[:, None], self.duration * column, self.curve.arc_duration(time)[:, None])
        leaves.update(zip(TIME_LEAVES, seconds, strict=True))
        for name, value in self.parameters.items():
            leaves[parameter_leaf(name)] = column * value
        return leaves

    # -- doors to rooms above ---------------------------------------------------------------------------

    def verify(self, accuracy: float | None = None) -> Report:
        """Check the answer independently of the solver; the report prints itself, its verdict first.

        accuracy : what is allowed between nodes, relative to a limit's size or an equation's scale; left
            out: 0.001 of limits over time, 0.01 of all else
        """
        from trajopt.verification.verify import verify

        with one_blas_thread():
            return verify(self, accuracy)

    def costate(self, state: str) -> Curve:
        """The costate lambda = dJ/dx of a state of a system, a curve: change of cost per unit of the state.

            solution.costate("x")(t)                      # (..., width), in objective per unit of x

        J is the optimal cost that is left from t on, minimized: lambda(0) is its derivative by a fixed
        initial state. From the multipliers of the equations x' = f, see `checks/costates.py`; it
        may jump at breakpoints, by the error of the mesh or where a limit of the state alone is reached.
        Raises UnknownNameError, or OptionError for a dynamics without such states.
        """
        from trajopt.checks.costates import costate

        return costate(self, state)

    @staticmethod
    def load(path: str | os.PathLike[str], problem: Problem | None = None) -> Solution:
        """Read a saved solution: q, v, a at once; torques need the problem, given here or rebuilt by recipe.

        Raises SolutionFileError for a file that is unreadable, foreign or of another problem.
        """
        from trajopt.archive.solution_archive import load
        from trajopt.certificates.certificate import restored

        return load(path, problem, restored)

    if not TYPE_CHECKING:  # editors know what there is

        def __getattr__(self, name: str) -> object:
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # it raises what kept it from being computed
            if known := QUANTITIES.get(name.removesuffix("s")):
                raise AttributeError(f"a solution has no '{name}': write solution.value(trajopt.{known}, t)")
            raise AttributeError(
                f"a solution has no '{name}'{near_matches(name, dir(self))}: solution.value(trajopt.state("
                f"{name!r}), t) is the state or control of that name, solution.value(term, t) any term, "
                "solution.q(t) all positions"
            )

        def __getitem__(self, key: object) -> object:
            raise OptionError(
                f"a solution has no entry {short_repr(key)}: write solution.value(trajopt.state('x'), t) "
                "for a state or control, solution.q(t)[..., 0] for a position, or solution.sample(100) for "
                "columns"
            )


def mesh_of(solution: Solution) -> Trajectory | None:
    """The problem's trajectory with the knots and the added nodes of the solution; None for other arcs."""
    asked, curve = solution.problem.trajectory, solution.curve
    if len(asked.arcs) != len(curve.bases):
        return None
    added = {"extra_points": solution.extra_points, "limit_points": solution.limit_points}
    bases, known = [arc.basis for arc in asked.arcs], (asked.extra_points, asked.limit_points)
    if all(map(operator.is_, bases, curve.bases)) and known == tuple(added.values()):
        return asked
    return replace(asked.with_bases(curve.bases), **added)


def confirmed_mesh_of(solution: Solution) -> Trajectory | None:
    """The same where its nodes are the solution's, None where they are not."""
    mesh = mesh_of(solution)
    return None if mesh is None or other_nodes(solution, mesh.nodes) else mesh


def other_nodes(solution: Solution, nodes: Nodes, whose: str = "motion") -> str:
    """Statement that a solution's node times are not those of its mesh, or its problem; empty otherwise."""
    times, reported = solution.curve.times_at(nodes.arc, nodes.s), solution.node_times
    slack = SAME_TIME * solution.duration
    if reported.shape == times.shape and np.allclose(reported, times, rtol=0.0, atol=slack):
        return ""
    return f"nodes: {reported.size} times that are not those of the {whose}'s {times.size}"
