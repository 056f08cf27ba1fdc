"""A step of replanning in C beside that of Python: `python -m benchmarks.receding_horizon.c_code`.

The plans of the closed loops of this folder, the cart-pole's and the Panda's, here with 10 intervals. Each is
written as C, built by gcc and stepped from the plan's own next state with noise. *Gap* is the largest
difference between the first controls of both, in N or N m; microseconds of C are the least of some calls from
one plan, medians over all steps, milliseconds of Python are those of one call.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import trajopt
from benchmarks.receding_horizon import arm
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from benchmarks.solvers import mpc

STEPS, REPEATS, SEED = 60, 9, 0
NOISE = {"cart_pole": 5e-3, "panda": 5e-4}  # standard deviation of states
ELAPSED = {"cart_pole": 0.1, "panda": 0.02}  # s
PANDA = 10, 0.5  # intervals, s


def programs() -> Iterator[tuple[str, trajopt.CompiledProgram, np.ndarray, dict[str, np.ndarray]]]:
    """Name, program, first state and further inputs."""
    yield "cart_pole", mpc.compiled_problem(), mpc.FIRST, {}
    arm.INTERVALS, arm.HORIZON = PANDA
    goal = {"goal": arm.CENTRE, "goal speed": np.array([0.0, 0.1, 0.1])}
    yield "panda", arm.MovingGoal().program, np.concatenate([arm.REST, np.zeros(7)]), goal


def library(folder: Path, name: str, level: str) -> ctypes.CDLL:
    (folder / "size.c").write_text(f'#include "{name}.h"\nint size(void) {{ return sizeof({name}_plan); }}\n')
    sources = f"{name}_step.c {name}_terms.c size.c -lm".split()
    subprocess.run(["gcc", level, "-fPIC", "-shared", "-o", "library.so", *sources], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "library.so"))


def row(
    name: str, program: trajopt.CompiledProgram, state: np.ndarray, goal: dict, level: str, steps: int
) -> str:
    step, random, elapsed = program.step(state, goal), np.random.default_rng(SEED), ELAPSED[name]
    with tempfile.TemporaryDirectory() as made:
        folder = program.to_c(made, step, elapsed=elapsed, inputs=list(goal), name=name)
        code, size = library(folder, name, level), sum(each.stat().st_size for each in folder.glob("*.[ch]"))
    plan, call = ctypes.create_string_buffer(code.size()), getattr(code, f"{name}_step")
    getattr(code, f"{name}_start")(plan)
    us, ms, gaps, alike = [], [], [], 0
    for _ in range(steps):
        state = step.x(elapsed) + NOISE[name] * random.standard_normal(state.size)
        inputs, before, own, status = np.concatenate([state, *goal.values()]), plan.raw, [], -1
        for _ in range(REPEATS):
            plan.raw = before
            began = time.perf_counter()
            status = call(plan, inputs.ctypes.data_as(ctypes.c_void_p), 1)
            own.append(1e6 * (time.perf_counter() - began))
        began = time.process_time()
        step = program.step(state, goal, before=step, elapsed=elapsed)
        ms.append(1e3 * (time.process_time() - began))
        us.append(min(own))
        found = np.zeros(step.x(0.0).size), np.zeros(step.u(0.0).size)
        getattr(code, f"{name}_outputs")(plan, *(each.ctypes.data_as(ctypes.c_void_p) for each in found))
        alike += status == 0 and step.is_new
        gaps.append(float(np.abs(found[1] - step.u(0.0)).max()))
    return (
        f"| {name} | {step.nlp.variable_count}, {step.nlp.row_count} | {size // 1024} | {alike} of {steps} | "
        f"{max(gaps):.1e} | {statistics.median(us):.0f} | {max(us):.0f} | {statistics.median(ms):.1f} |"
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--level", default="-O2", help="of gcc's optimization")
    given = arguments.parse_args()
    print("| plan | unknowns, rows | C, KB | both new | gap | C, µs | largest | Python, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for each in programs():
        print(row(*each, given.level, 2 if given.smallest else STEPS), flush=True)
        if given.smallest:
            break
    print(loaded_machine())


if __name__ == "__main__":
    main()
