"""A solver with a deadline over many solves, for refinements that solve again and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from trajopt.solver import NLP, Callback, Result, Solver, Status, WarmStart


class Stopped(Exception):
    """The time is up or the user pressed Ctrl-C: refining ends, what was found stays."""


@dataclass(frozen=True)
class Budget:
    """`solver` until `deadline`, in seconds of `time.monotonic`; the next solve after it raises Stopped."""

    solver: Solver
    deadline: float

    @staticmethod
    def of(solver: Solver, seconds: float) -> Budget:
        return Budget(solver, time.monotonic() + seconds)

    def brief(self, iterations: int) -> Budget:
        """The same with at most so many iterations a solve, where the solver knows such a limit."""
        allowed = getattr(self.solver, "max_iterations", None)
        if allowed is None:
            return self
        return Budget(_with(self.solver, max_iterations=min(allowed, iterations)), self.deadline)

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve in what is left of the time."""
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise Stopped("the time limit of the refinement was reached")
        own = getattr(self.solver, "time_limit", None)
        limited = _with(self.solver, time_limit=left if own is None else min(own, left))
        result = limited.solve(nlp, callback, start)
        if result.status is Status.INTERRUPTED:
            raise Stopped("the refinement was interrupted")
        return result


def _with(solver: Any, **settings: Any) -> Any:
    """The solver with other settings, or itself where it has none of that name."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return solver
    known = {field.name for field in fields(solver)}
    return replace(solver, **{name: value for name, value in settings.items() if name in known})
