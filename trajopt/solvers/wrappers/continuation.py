"""Goes on with a second solver where the first one gave up: one count of iterations, one history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Solver, WarmStart

__all__ = ["continued"]


def continued(
    before: Result, solver: Solver, nlp: NLP, callback: Callback | None, start: WarmStart | None
) -> Result:
    """What `solver` finds from `start`, with the iterations, the seconds and the history of both.

    before : of the first solver. The second one's start is an iterate of its own, whose number, which the
        callback sees, follows that of the first one's last
    """
    count = len(before.history)

    def seen(iteration: Iteration) -> object:
        number, seconds = count + iteration.iteration, before.seconds + iteration.seconds
        assert callback is not None
        return callback(replace(iteration, iteration=number, seconds=seconds))

    found = solver.solve(nlp, None if callback is None else seen, start)
    return replace(
        found,
        iterations=count + found.iterations,
        seconds=before.seconds + found.seconds,
        timings={kind: before.timings.get(kind, 0.0) + spent for kind, spent in found.timings.items()},
        history=np.concatenate([before.history, found.history + np.array([count, 0.0, 0.0])]),
    )
