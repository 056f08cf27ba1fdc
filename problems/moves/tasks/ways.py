"""Ways from which a task is solved: straight from goal to goal, planned where obstacles block that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from problems.moves.planning.planned_path import is_clear, planned_path
from problems.moves.tasks.stated_task import StatedTask
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError

SEEDS = 4  # of planned paths, one after the other while no motion is found
SHARE = 0.5  # of the clearance asked for that planned poses keep: solving moves them away


def ways_past_obstacles(task: StatedTask, guess: list[Array]) -> Iterator[list[Array]]:
    """Poses (k, n) from goal to goal: the guess, with planned paths for segments on which shapes touch.

    Segments on which a line, an arc or an axis is kept stay as they are: a planned path leaves it. The guess
    itself comes first to a single goal, and last to several where a segment of it is blocked, as a solve from
    there takes long.
    """
    blocked = []
    for number, step in enumerate(task.steps):
        clearances = task.clearances(task.loaded(step.payloads))
        if clearances is None or step.rules:
            continue
        if not is_clear(clearances, guess[number], SHARE * task.clearance):
            blocked.append((number, clearances))
    if len(guess) == 1:
        yield guess
    for seed in range(SEEDS if blocked else 0):
        way = list(guess)
        for number, clearances in blocked:
            ends = guess[number][0], guess[number][-1]
            with suppress(InfeasibleBoundsError):  # of a pose that is within its tolerance alone
                path = planned_path(clearances, *ends, SHARE * task.clearance, seed=seed)
                way[number] = guess[number] if path is None else path
        if any(way[number] is not guess[number] for number, _ in blocked):
            yield way
    if len(guess) > 1:
        yield guess
