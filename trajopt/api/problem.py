"""`trajopt.Problem`: a problem that describes itself, with the size of its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.base.errors import near_matches
from trajopt.problem.closure_problem import ClosureProblem
from trajopt.problem.problem import ProblemData

if TYPE_CHECKING:
    from trajopt.display.facts import ProblemSummary


class Problem(ClosureProblem):
    __doc__ = ProblemData.__doc__

    def summary(self) -> ProblemSummary:
        """All costs, constraints and unknowns, and how large the program is, before it is solved; print it.

        Raises ProblemError or a subclass where the problem contradicts itself.
        """
        from trajopt.display.facts import ProblemSummary

        return ProblemSummary.of(self)

    def __repr__(self) -> str:
        from trajopt.display.facts import problem_facts

        return str(problem_facts(self))

    def _repr_html_(self) -> str:
        from trajopt.display.facts import problem_facts

        return problem_facts(self).html()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # Python asks for those that a copy may have
                raise AttributeError(name)
            hint = ": write problem.minimize(term, weight=-1.0)" if name == "maximize" else ""
            raise AttributeError(f"a problem has no '{name}'{hint or near_matches(name, dir(self))}")
