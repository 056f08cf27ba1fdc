"""Seconds until the first results: compiled on first use, loaded from the cache by every later process.

`python -m benchmarks.dynamics.startup` is the process that is timed; it prints its seconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def startup() -> dict[str, dict[str, float]]:
    """{"compile": with an empty cache, "load": with a full one}, each as `seconds_to_results`."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        return {name: run(environment) for name in ("compile", "load")}


def run(environment: dict[str, str]) -> dict[str, float]:
    """One new process."""
    command = [sys.executable, "-m", "benchmarks.dynamics.startup"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def seconds_to_results() -> dict[str, float]:
    """Starting numba; then every function and block once; then again on a robot of another structure."""
    clock = [time.perf_counter()]
    # What numba does before its first kernel whatever that is: import itself and SciPy's linear algebra.
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    clock.append(time.perf_counter())
    from benchmarks.papers.models import binary, biped

    robots = biped(4).with_rotors("exact"), binary(5)
    clock.append(time.perf_counter())
    for robot in robots:
        call_everything(robot)
        clock.append(time.perf_counter())
    return {
        "numba itself": clock[1] - clock[0],
        "every function once": clock[3] - clock[2],
        "another robot": clock[4] - clock[3],
    }


def call_everything(model) -> None:
    """Every exported function, and every method of one block of each family."""
    import numpy as np

    from benchmarks.dynamics.calls import inputs, our_call, timed_functions

    arrays = inputs(model, 3)
    for name in timed_functions():
        our_call(name, model, arrays)()
    link, joint = model.link_names[-1], model.joint_names[-1]
    for block in (
        model.block(("tau", "base_wrench", f"wrench:{joint}"), loads=(link,)),
        model.block((f"position:{link}", f"orientation:{link}", f"velocity:{link}", "momentum")),
    ):
        u = {name: np.full((3, width), 0.1) for name, width in block.inputs.items()}
        block.value(u)
        block.partials(u)
        block.curvature(u, {name: np.ones((3, width)) for name, width in block.outputs.items()})


if __name__ == "__main__":
    print(json.dumps(seconds_to_results()))
