"""Two sides timed in turns, by processor seconds, so that other work on the machine disturbs both alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.dynamics.calls import inputs, our_call, timed_functions
from benchmarks.dynamics.pinocchio_peer import peer_call, peer_of
from benchmarks.dynamics.robots import CHAIN, robots

NODES = (1, 16, 64, 256)
ROUNDS = 9
LEAST = 5e-4  # seconds of a round, so that the clock's resolution and a single interrupt count little
# A result of a hundred megabytes measures the operating system's pages, not a recursion.
LARGEST_RESULT = 100e6


@dataclass(frozen=True)
class Cell:
    """Microseconds per node, and the median over rounds of our time divided by the peer's."""

    robot: str
    function: str
    nodes: int
    ours: float
    peer: float | None
    ratio: float | None


def in_turns(
    calls: list[Callable[[], object]], rounds: int = ROUNDS, least: float = LEAST
) -> list[list[float]]:
    """Seconds per call of every call in every round of at least so many seconds each."""
    repeats = [repeats_of(call, least) for call in calls]
    return [[batch(call, count) for call, count in zip(calls, repeats, strict=True)] for _ in range(rounds)]


def repeats_of(call: Callable[[], object], least: float) -> int:
    """Number of calls that fill a round; the first two calls compile and warm up."""
    call()
    call()
    return max(1, int(least / max(batch(call, 1), 1e-7)))


def batch(call: Callable[[], object], count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - started) / count


def result_bytes(function: str, n: int, nodes: int) -> float:
    """Size of the largest results: n^3 symbols of every node."""
    return 8.0 * n**3 * nodes if function == "christoffel_symbols" else 0.0


def measure(rounds: int = ROUNDS, least: float = LEAST) -> list[Cell]:
    """Every function on every robot at every number of nodes."""
    found = []
    for robot, model in robots().items():
        peer = peer_of(model)
        for nodes in NODES:
            arrays = inputs(model, nodes)
            for name in timed_functions():
                if result_bytes(name, model.n, nodes) > LARGEST_RESULT:
                    continue
                theirs = peer_call(name, peer, arrays)
                calls = [our_call(name, model, arrays), *([theirs] if theirs else [])]
                measured = in_turns(calls, rounds, least)
                ours = median(times[0] for times in measured) / nodes * 1e6
                pair = (None, None)
                if theirs:
                    other = median(times[1] for times in measured) / nodes * 1e6
                    pair = (other, median(times[0] / times[1] for times in measured))
                found.append(Cell(robot, name, nodes, ours, *pair))
        print(f"{robot}: {len(found)} cells", flush=True)
    return found


def second_over_first(rounds: int = 5 * ROUNDS, least: float = LEAST, nodes: int = 64) -> float:
    """Cost of contracted second derivatives relative to first ones on the 20-joint chain."""
    model = robots()[CHAIN]
    arrays = inputs(model, nodes)
    names = ("rnea_derivatives", "rnea_second_derivatives")
    measured = in_turns([our_call(name, model, arrays) for name in names], rounds, least)
    return median(times[1] / times[0] for times in measured)


def as_records(cells: list[Cell]) -> list[dict]:
    """The measurement as JSON holds it."""
    return [asdict(cell) for cell in cells]
