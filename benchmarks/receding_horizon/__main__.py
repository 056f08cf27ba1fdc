"""Closed loops with plants in MuJoCo, disturbed: `python -m benchmarks.receding_horizon`.

Every period the plan is stepped once from a state that is measured with noise (`CompiledProgram.step`, one
real-time iteration), and its first controls are held until the next one. The plants are pushed at random and
are not quite the models. *Delay* is how many samples old a measurement is when it arrives. *Lost* is a
cart-pole that fell although no force could right it from the first measurement on that showed the push.
*Limits exceeded* counts seeds, *held* steps at which the plan before went on; milliseconds are processor time
of one step.

    python -m benchmarks.receding_horizon cart-pole --seeds 100
"""

from __future__ import annotations

import numpy as np

from benchmarks.receding_horizon.arm import MovingGoal
from benchmarks.receding_horizon.cart_pole import CartPole
from benchmarks.receding_horizon.loop import Trial, closed_loop
from benchmarks.receding_horizon.quadruped import PushedTrot
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine

PLANTS = {"cart-pole": CartPole, "panda": MovingGoal, "quadruped": PushedTrot}
SEEDS, SAMPLES, DELAYS = 100, 150, (0, 3)
ROUNDING = 1e-6  # of a limit's size


def row(name: str, found: list[Trial], delay: int) -> str:
    ms = np.concatenate([each.ms[1:] for each in found])
    fell, lost = sum(each.fell for each in found), sum(each.lost for each in found)
    beyond = sum(each.excess > ROUNDING for each in found)
    held, worst = sum(each.held for each in found), max(each.excess for each in found)
    return (
        f"| {name} | {delay} | {len(found)} | {fell} | {lost} | {beyond} | {100.0 * worst:.1f} % | {held} of "
        f"{sum(len(each.ms) for each in found)} | {np.median(ms):.1f} | {np.quantile(ms, 0.99):.1f} |"
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("plants", nargs="*", help=f"of {', '.join(PLANTS)}; all by default")
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--samples", type=int, default=SAMPLES)
    arguments.add_argument("--delays", type=int, nargs="*", default=DELAYS)
    given = arguments.parse_args()
    unknown = set(given.plants) - set(PLANTS)
    if unknown:
        arguments.error(f"there is no plant {', '.join(sorted(unknown))}: give some of {', '.join(PLANTS)}")
    seeds, samples = (1, 3) if given.smallest else (given.seeds, given.samples)
    print("| plant | delay | seeds | falls | lost | limits exceeded | most | held | ms, median | 99 of 100 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in given.plants or PLANTS:
        plant = PLANTS[name]()
        for delay in given.delays:
            found = [closed_loop(plant, seed, samples, delay) for seed in range(seeds)]
            print(row(name, found, delay), flush=True)
    print(loaded_machine())


if __name__ == "__main__":
    main()
