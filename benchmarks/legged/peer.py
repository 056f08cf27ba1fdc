"""Trot and jump of Solo by Crocoddyl: seconds of its solver, and what its answers hold.

    python -m benchmarks.legged.peer                     # in an interpreter with crocoddyl
    python -m benchmarks.legged --peer PYTHON            # the same beside ours, PYTHON being that interpreter

Its own class of quadrupedal gaits (crocoddyl.utils.quadruped) makes the problems: knots 10 ms apart, feet
that stand by accelerations held at zero, friction cones, places of feet and posture as costs, no limit of
torques. Each is solved to its own test of convergence, in the least processor seconds of three runs; torques,
forces and feet are then measured at all knots.

Crocoddyl 3.2.1 is compiled with Pinocchio 4.0.0, and with another one contacts end in a MemoryError, but pip
brings the newest: `pip install crocoddyl pin==4.0.0 libpinocchio==4.0.0`.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOLO = ROOT / "problems" / "robots" / "solo12.urdf"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
STANDING = np.array([0.0, 0.8, -1.6] * 4)  # rad, as in problems/gallery/legged
STEP, FRICTION, TORQUE = 1e-2, 0.7, 2.7  # s, of a knot; N m
REPEATS, ITERATIONS = 3, 300
COMPILED_WITH = {"3.2.1": "4.0.0"}  # version of Crocoddyl -> of Pinocchio; its wheels do not ask for it


class PeerVersionError(RuntimeError):
    """Crocoddyl stands beside another Pinocchio than the one with which it was compiled."""


def check_versions(crocoddyl: str, pinocchio: str) -> None:
    """Raise PeerVersionError where both are known not to fit."""
    expected = COMPILED_WITH.get(crocoddyl, pinocchio)
    if pinocchio != expected:
        raise PeerVersionError(
            f"crocoddyl {crocoddyl} is compiled with Pinocchio {expected}, but this is {pinocchio}: "
            f"pip install pin=={expected} libpinocchio=={expected}"
        )


def gaits() -> tuple[Any, Any]:
    """The maker of problems and the state of standing still, feet on the ground."""
    import crocoddyl
    import pinocchio
    from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

    check_versions(crocoddyl.__version__, pinocchio.__version__)
    model = pinocchio.buildModelFromUrdf(str(SOLO), pinocchio.JointModelFreeFlyer())
    q = np.array([*np.zeros(6), 1.0, *STANDING])
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q)
    q[2] = -data.oMf[model.getFrameId(FEET[0])].translation[2]
    model.referenceConfigurations["standing"] = q
    return SimpleQuadrupedalGaitProblem(model, *FEET), np.concatenate([q, np.zeros(model.nv)])


def problems_of(gait: Any, state: np.ndarray) -> dict[str, Any]:
    """A period of the trot, two steps from standing to standing, and a jump of 25 cm."""
    return {
        "trot": gait.createTrottingProblem(state, 0.1, 0.03, STEP, 25, 2),
        "jump": gait.createJumpingProblem(state, 0.1, np.array([0.25, 0.0, 0.0]), STEP, 15, 12),
    }


def solved(gait: Any, state: np.ndarray, name: str) -> tuple[Any, bool, float]:
    """The solver, whether it calls itself converged, and the least processor seconds of its runs."""
    import crocoddyl

    seconds = []
    for _ in range(REPEATS):
        problem = problems_of(gait, state)[name]
        solver = crocoddyl.SolverFDDP(problem)
        still = [state] * (problem.T + 1)
        began = time.process_time()
        done = solver.solve(still, problem.quasiStatic(still[:-1]), ITERATIONS, False)
        seconds.append(time.process_time() - began)
    return solver, done, min(seconds)


def contacts(solver: Any) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
    """Knot, foot, force in world axes, and place of every foot that stands."""
    for knot, data in enumerate(solver.problem.runningDatas):
        if not hasattr(data, "differential"):
            continue  # an impulse
        bodies = data.differential.multibody
        for name, each in bodies.contacts.contacts.todict().items():
            frame = bodies.pinocchio.oMf[each.frame]
            force = frame.rotation @ each.jMf.actInv(each.fext).linear
            yield knot, name.removesuffix("_contact"), force, frame.translation.copy()


def held(solver: Any, mass: float) -> dict[str, float]:
    """Largest torque by its limit; excess of forces over the cone, in weights; m, slip and height of feet."""
    torque = max(float(np.abs(u).max()) for u in solver.us if len(u)) / TORQUE
    cone, slip, height, began = 0.0, 0.0, 0.0, {}
    for knot, foot, force, place in contacts(solver):
        size = float(np.hypot(*force[:2]) - FRICTION * force[2])
        cone = max(cone, size, -float(force[2]))
        last, first = began.get(foot, (None, None))
        first = place if last != knot - 1 else first
        began[foot] = knot, first
        slip = max(slip, float(np.linalg.norm(place - first)))
        height = max(height, abs(float(place[2])))
    return {"torque": torque, "cone": cone / (9.81 * mass), "slip": slip, "height": height}


def answers() -> list[dict[str, Any]]:
    import pinocchio

    gait, state = gaits()
    mass = pinocchio.computeTotalMass(gait.rmodel)
    found = []
    for name in ("trot", "jump"):
        solver, done, seconds = solved(gait, state, name)
        end = float(np.abs(solver.xs[-1][-gait.rmodel.nv :]).max())
        given = {"motion": name, "converged": done, "iterations": solver.iter, "seconds": seconds}
        travelled = float(solver.xs[-1][0] - state[0])
        found.append({**given, **held(solver, mass), "travelled": travelled, "speed at the end": end})
    return found


def asked(python: str) -> list[dict[str, Any]]:
    """Answer of the interpreter; its error in words where it cannot."""
    command = [python, "-m", "benchmarks.legged.peer"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} runs no Crocoddyl: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(answers()))
