"""Amount of the walking that is measured: all of it, or as little as runs through every part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import trajopt
from trajopt.solvers.solver import Solver

PEOPLE = {0.8: 0.49, 1.2: 0.59, 1.6: 0.70}  # m/s -> m, step lengths that people prefer on a treadmill


@dataclass(frozen=True)
class Size:
    """Speeds in m/s, lengths in m, meshes by intervals; None takes all there are."""

    repeats: int = 3
    speeds: Sequence[float] = (0.8, 1.0, 1.2, 1.4, 1.6)
    lengths: Sequence[float] = (0.5, 0.6, 0.7, 0.8)
    control_points: Sequence[int] = (6, 8, 10)
    nodes_per_span: Sequence[int] = (5, 7, 9, 13)
    starts: int = 10
    people: Mapping[float, float] = field(default_factory=lambda: PEOPLE)
    parts_of_length: Sequence[float] = (0.84, 0.92, 1.0, 1.08, 1.16)  # of the length that people prefer
    predicted_meshes: Sequence[int] | None = None
    moved: int | None = None
    slopes: Sequence[float] = (-0.08, 0.0, 0.08)
    impossible: int | None = None
    casadi_seconds: float = 400.0  # of a solve
    max_iterations: int | None = None  # None: as many as the problem recommends

    def solver(self, problem: trajopt.Problem) -> Solver | None:
        """The solver that a walk recommends with the limit of iterations; None without one."""
        if self.max_iterations is None:
            return None
        rounds = problem.solver
        assert isinstance(rounds, trajopt.ConstraintGeneration) and isinstance(rounds.solver, trajopt.Ipopt)
        return replace(rounds, solver=replace(rounds.solver, max_iterations=self.max_iterations))


SMALLEST = Size(1, (1.2,), (0.6,), (6,), (5,), 1, {1.2: 0.59}, (1.0,), (2,), 1, (0.0,), 1, 1.0, 2)
