"""A solver with a deadline over many solves, for refinements that solve again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.solver import NLP, Callback, Result, Solver, Status, WarmStart

# Arcs, and splines with a few knots more, start near their answer: IPOPT's own values push them off it (8
# iterations for 16 on three links, 25 for more than 100 on six axes). How far unknowns, durations above all,
# are pushed off their bounds decides some solves, 6 iterations or more than 100, for no reason known
# beforehand: what fails with the one is tried with the other. With only nodes more, the last answer is nearer
# still (33 for 102).
NEAR_START = MappingProxyType(
    {
        "mu_init": 1e-3,
        "slack_bound_push": 1e-4,
        "slack_bound_frac": 1e-4,
    }
)
NEAR_BOUNDS = MappingProxyType({**NEAR_START, "bound_push": 1e-4, "bound_frac": 1e-4})
SAME_MOTION = MappingProxyType({"mu_init": 1e-5})


class Stopped(Exception):
    """The time is up or the user pressed Ctrl-C: refining ends, what was found stays."""


@dataclass(frozen=True)
class Budget:
    """`solver` until `deadline`, in seconds of `time.monotonic`; the next solve after it raises Stopped."""

    solver: Solver
    deadline: float
    callback: Callback | None = None

    @staticmethod
    def of(solver: Solver, seconds: float, callback: Callback | None = None) -> Budget:
        return Budget(solver, time.monotonic() + seconds, callback)

    def brief(self, iterations: int) -> Budget:
        """The same with at most so many iterations a solve, where the solver knows such a limit."""
        allowed = getattr(self.solver, "max_iterations", None)
        if allowed is None:
            return self
        return replace(self, solver=_with(self.solver, max_iterations=min(allowed, iterations)))

    def near(self, options: Mapping[str, Any]) -> Budget:
        """The same with options of IPOPT's for starts near the answer, where the user has not set them."""
        if not isinstance(self.solver, Ipopt):
            return self
        return replace(self, solver=_with(self.solver, options={**options, **self.solver.options}))

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve in what is left of the time."""
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise Stopped("the time limit of the refinement was reached")
        own = getattr(self.solver, "time_limit", None)
        limited = _with(self.solver, time_limit=left if own is None else min(own, left))
        result = limited.solve(nlp, callback or self.callback, start)
        if result.status is Status.INTERRUPTED:
            raise Stopped("the refinement was interrupted")
        return result


def _with(solver: Any, **settings: Any) -> Any:
    """The solver with other settings, or itself where it has none of that name."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return solver
    known = {field.name for field in fields(solver)}
    return replace(solver, **{name: value for name, value in settings.items() if name in known})
