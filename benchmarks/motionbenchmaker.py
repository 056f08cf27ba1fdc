"""A Panda among obstacles in least time: problems of MotionBenchMaker, with paths of a planner as starts.

    python -m benchmarks.motionbenchmaker FOLDER [--per-scene 60] [--first 1]

FOLDER holds panda_problems.json.gz, panda_planner_paths.json.gz, panda_spheres.json and
panda_allowed_collisions.json (problems of Chamzas et al., RA-L 2022, paths and spheres of the planner VAMP).
Rest to rest; velocity and torque of the URDF, acceleration 15 rad/s^2, jerk 500 rad/s^3; the robot is its
spheres, obstacles are true boxes and cylinders. Problems whose ends lie outside the limits or in penetration
are listed and left out. "free": no sphere is within an obstacle, by coal, nor two spheres of the robot within
each other, at 1 kHz. "proved": no contact at any time. Seconds are those of the processor, from the statement
to the solution, and of the proof by itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import trajopt
from benchmarks.timing import loaded_machine
from problems import urdf_arm
from problems.moves.contact_proof import least_clearance_bound
from problems.moves.obstacles import keep_clear, solve_clear

FINGERS = 0.065  # m, where both stand
CLEARANCE = 0.002  # m, at nodes
ACCELERATION, JERK = 15.0, 500.0
INTERVALS, DEGREE, NODES = 16, 5, 4
TOLERANCE = 1e-4
RANGE_SLACK = 1e-6  # rad, that ends written with six digits are moved into the limits
CLOSE = 0.02  # m; pairs whose balls are further apart are not given to coal


def panda(folder: Path) -> dynamics.RigidBodyModel:
    """The Panda with held fingers, its spheres and the pairs that may touch."""
    root = ElementTree.fromstring(urdf_arm.source("panda"))
    for joint in root.findall("joint"):
        if "finger" in joint.get("name", ""):
            joint.set("type", "fixed")
            axis, origin = joint.find("axis"), joint.find("origin")
            assert axis is not None and origin is not None
            along, place = (np.array(e.get("xyz", "").split(), float) for e in (axis, origin))
            origin.set("xyz", " ".join(map(str, place + FINGERS * along)))
            for element in [*joint.findall("mimic"), *joint.findall("limit")]:
                joint.remove(element)
    model = dynamics.load_urdf(ElementTree.tostring(root, encoding="unicode"))
    allowed = dynamics.load_allowed_pairs(folder / "panda_allowed_collisions.json")
    return model.with_shapes(dynamics.load_spheres(folder / "panda_spheres.json"), allowed)


def scene_of(objects: list[dict[str, Any]]) -> dynamics.Scene:
    """The obstacles of a problem."""
    shapes = []
    for item in objects:
        size = item["dimensions"] if item["type"] == "box" else item["dimensions"][::-1]
        pose = dynamics.box((1, 1, 1), item["position"], item["quaternion_xyzw"])
        shapes.append(dynamics.Shape(item["type"], size, pose.rotation, pose.position, name=item["name"]))
    return dynamics.Scene(shapes)


def depth_by_coal(model: Any, scene: dynamics.Scene, q: np.ndarray) -> float:
    """The least signed distance of the robot's spheres to the obstacles, m, by coal; `CLOSE` where larger."""
    import coal

    made = {"box": lambda s: coal.Box(*s), "cylinder": lambda s: coal.Cylinder(*s)}
    solids, poses = [], []
    for shape in scene.shapes:
        solids.append(made[shape.kind](shape.size))
        poses.append(coal.Transform3s(shape.rotation, shape.position))
    reach = np.array(
        [np.linalg.norm(s.size * (0.5 if s.kind == "box" else [1.0, 0.5])) for s in scene.shapes]
    )
    middles = np.array([shape.position for shape in scene.shapes])
    carriers = dynamics.forward_kinematics(model, q, [shape.carrier for shape in model.shapes])
    request, result, least = coal.DistanceRequest(), coal.DistanceResult(), CLOSE
    request.enable_signed_distance = True
    for index, shape in enumerate(model.shapes):
        ball = coal.Sphere(float(shape.size[0]))
        centres = carriers.position[:, index] + carriers.rotation[:, index] @ shape.position
        apart = np.linalg.norm(centres[:, None] - middles, axis=-1) - reach - shape.size[0]
        for node, solid in np.argwhere(apart < CLOSE):
            result.clear()
            place = coal.Transform3s(np.eye(3), centres[node])
            coal.distance(ball, place, solids[solid], poses[solid], request, result)
            least = min(least, result.min_distance)
    return least


def problem_along(clearances: dynamics.Clearances, path: np.ndarray) -> trajopt.Problem:
    """Least time between the ends of a path, which is the guess, at rest at both."""
    trajectory = trajopt.Trajectory.uniform(INTERVALS, DEGREE, (0.1, 10.0), nodes_per_span=NODES)
    problem = trajopt.Problem(clearances.model, trajectory, name="motionbenchmaker")
    problem.start_at(q=path[0], v=0.0, a=0.0)
    problem.end_at(q=path[-1], v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.a, -ACCELERATION, ACCELERATION, name="acceleration")
    problem.subject_to(trajopt.jerk, -JERK, JERK, name="jerk")
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])

    def guess(s: np.ndarray) -> np.ndarray:
        gone = length[-1] * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        return np.stack([np.interp(gone, length, column) for column in path.T], axis=-1)

    keep_clear(problem, clearances, CLEARANCE, guess(np.linspace(0.0, 1.0, 101)))
    problem.guess(guess, duration=max(1.5, float(length[-1])))
    return problem


def solved(model: Any, found: dict[str, Any], path: np.ndarray) -> dict[str, Any]:
    """What became of one problem."""
    scene = scene_of(found["objects"])
    limits = model.limits
    outside = np.maximum(limits.q_lower - path[[0, -1]], path[[0, -1]] - limits.q_upper).max()
    inside = np.clip(path, limits.q_lower + RANGE_SLACK, limits.q_upper - RANGE_SLACK)
    clearances = dynamics.Clearances(model, scene)
    if outside > 2.0 * RANGE_SLACK:
        return {"bad end": f"{outside:.4f} rad outside the limits"}
    depth = min(
        depth_by_coal(model, scene, inside[[0, -1]]), float(clearances.distances(inside[[0, -1]]).min())
    )
    if depth <= 0.0:
        return {"bad end": f"{-1e3 * depth:.2f} mm in penetration"}
    began = time.process_time()
    solver = trajopt.DenseInteriorPoint(tol=TOLERANCE)
    motion = solve_clear(problem_along(clearances, inside), clearances, min(CLEARANCE, 0.9 * depth), solver)
    seconds = time.process_time() - began
    began = time.process_time()
    bound = least_clearance_bound(clearances, motion.curve)
    proof = time.process_time() - began
    q = motion.q(np.arange(0.0, motion.duration, 1e-3))
    own = clearances.distances(q)[:, clearances.pairs[:, 1] < 0].min()
    free = min(depth_by_coal(model, scene, q), float(own))
    return {
        "converged": motion.converged,
        "free": bool(free > 0.0),
        "least": free,
        "proved": bound.proved,
        "duration": motion.duration,
        "seconds": seconds,
        "proof": proof,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-scene", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    asked = parser.parse_args()
    print(loaded_machine())
    model = panda(asked.folder)
    with gzip.open(asked.folder / "panda_problems.json.gz") as file:
        scenes = json.load(file)
    with gzip.open(asked.folder / "panda_planner_paths.json.gz") as file:
        paths = json.load(file)
    rows = []
    for number in range(asked.first, asked.first + asked.per_scene):
        for scene, problems in scenes.items():
            found = next((each for each in problems if each["number"] == number), None)
            if found is None:
                continue
            row = solved(model, found, np.array(paths[f"{scene}/{number}"]))
            print(
                f"{scene}/{number}:",
                ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()),
                flush=True,
            )
            rows.append(row)
    tried = [row for row in rows if "bad end" not in row]
    good = [row for row in tried if row["converged"] and row["free"]]
    bad = len(rows) - len(tried)
    print(f"{len(rows)} problems, {bad} with a bad end; solved and free {len(good)} of {len(tried)}")
    if good:
        for name in ("duration", "seconds", "proof"):
            values = sorted(row[name] for row in good)
            high = values[round(0.9 * (len(values) - 1))]
            print(f"{name}: median {statistics.median(values):.3f} s, nine of ten below {high:.3f} s")
        print(f"proved for all times: {sum(row['proved'] for row in good)} of {len(good)}")


if __name__ == "__main__":
    main()
