"""`Solution` and `PhasesSolution`: values of a solution with its checks, its files and its card in a
notebook.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trajopt.base.blas_threads import one_blas_thread
from trajopt.solution.solution import Answer, PhasesSolutionData, SolutionData

if TYPE_CHECKING:
    from trajopt.api.problem import Problem
    from trajopt.certificates.certificate import Certificate
    from trajopt.display.curves import Samples
    from trajopt.parametric.covariance import Covariance
    from trajopt.parametric.sensitivity import Sensitivity
    from trajopt.problem.phases import Phases
    from trajopt.problem.problem import ProblemData
    from trajopt.splines.curve import Curve
    from trajopt.verification.diagnosis import Diagnosis
    from trajopt.verification.report import Report


class PublicAnswer(Answer):
    """Methods that a solution of a problem and one of phases share."""

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
        from trajopt.refinement.limit_nodes import limit_peaks

        return max(limit_peaks(part).largest for part in self.parts)


class Solution(PublicAnswer, SolutionData):
    __doc__ = SolutionData.__doc__

    if TYPE_CHECKING:
        certificate: Certificate | None

        @cached_property
        def problem(self) -> Problem: ...

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
        initial state. From the multipliers of the equations x' = f, see `checks/optimality.py`; it
        may jump at breakpoints, by the error of the mesh or where a limit of the state alone is reached.
        Raises UnknownNameError, or OptionError for a dynamics without such states.
        """
        from trajopt.checks.optimality import costate

        return costate(self, state)

    @staticmethod
    def load(path: str | os.PathLike[str], problem: ProblemData | None = None) -> Solution:
        """Read a saved solution: q, v, a at once; torques need the problem, given here or rebuilt by recipe.

        Raises SolutionFileError for a file that is unreadable, foreign or of another problem.
        """
        from trajopt.archive.solution_archive import load
        from trajopt.certificates.certificate import restored

        return load(path, problem, restored).as_instance_of(Solution)


class PhasesSolution(PublicAnswer, PhasesSolutionData):
    __doc__ = PhasesSolutionData.__doc__

    phases: tuple[Solution, ...]

    @cached_property
    def certificate(self) -> Certificate | None:
        """A line for every constraint, cost and link; None where nothing was certified."""
        from trajopt.certificates.certificate import certificate_of_phases

        return certificate_of_phases(self)

    def verify(self, accuracy: float | None = None) -> Report:
        """Check every phase as `Solution.verify` does, all links, and the optimality of all together."""
        from trajopt.verification.verify import verify_phases

        with one_blas_thread():
            return verify_phases(self, accuracy)

    @staticmethod
    def load(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolution:
        """Read saved phases; terms need the problems, given here or rebuilt by recipe.

        Raises SolutionFileError for a file that is unreadable, foreign or of other phases.
        """
        from trajopt.archive.solution_archive import load_phases

        return load_phases(path, phases).as_instance_of(Solution, PhasesSolution)

    def __getattr__(self, name: str) -> Any:
        known = hasattr(Solution, name) or name in Solution.__dataclass_fields__
        if name.startswith("_") or not known:
            raise AttributeError(f"a solution of phases has no '{name}'")
        raise AttributeError(f"every phase has its own '{name}': ask one, solution.phases[0].{name}")


def load_any(path: str | os.PathLike[str]) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, whichever the file holds; SolutionFileError as of `load`."""
    from trajopt.archive.solution_archive import is_of_phases

    return (PhasesSolution if is_of_phases(path) else Solution).load(path)
