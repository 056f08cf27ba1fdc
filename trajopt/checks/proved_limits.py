"""Statements between nodes that are proved for all times, by enclosures, where these are cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trajopt.checks.lines.acceleration_jumps import acceleration_jumps
from trajopt.checks.lines.enclosed_lines import SampledLine, enclosed
from trajopt.checks.lines.statement_line import StatementLine
from trajopt.checks.lines.statement_times import interval_of
from trajopt.checks.lines.violation_tracks import Track
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData

MOST_JOINTS = 8  # inverse dynamics of larger robots takes seconds in Taylor models

Statement = tuple[Constraint, Track, Track | None]
Lines = Mapping[tuple[Constraint, int], StatementLine]


def proved_limits(solution: SolutionData, stated: Sequence[Statement], accuracy: float) -> Lines:
    """(constraint, component) -> its line, of the statements over intervals that samples do not refute.

    A line has the evidence "enclosure" where no violation exceeds `accuracy` of the smaller scale of its two
    sides at any time; its value is above its tolerance where the search met such a violation between samples.
    """
    if solution.problem.dynamics.n > MOST_JOINTS:
        return {}
    if len(solution.problem.trajectory.arcs) != len(solution.curve.bases):  # windows mean other times there
        return {}
    asked = [
        SampledLine(_line(constraint, component, track, accuracy), constraint, component, interval)
        for constraint, _, track in stated
        if track is not None and constraint.over.integrates and track.times.size
        for interval in [interval_of(constraint.over, solution.curve)]
        if not interval.is_time
        for component in _bounded(constraint)
        if not acceleration_jumps(solution, constraint, component).size
    ]
    lines = enclosed(solution, asked)
    return {(each.constraint, each.component): line for each, line in zip(asked, lines, strict=True)}


def _line(constraint: Constraint, component: int, track: Track, accuracy: float) -> StatementLine:
    """What the samples say of a component."""
    peak, scale = track.worst(component), float(track.scale[:, component].min())
    return StatementLine(
        constraint.name, "", peak.violation, peak.time, accuracy * scale, "sampled", scale=scale
    )


def _bounded(constraint: Constraint) -> list[int]:
    return np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper)).tolist()
