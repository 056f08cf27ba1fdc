"""A Panda among obstacles in least time: problems of MotionBenchMaker, with paths of a planner or without.

    python -m benchmarks.motionbenchmaker FOLDER [--starts given | own] [--per-scene 60] [--first 1]

FOLDER holds panda_problems.json.gz, panda_planner_paths.json.gz, panda_spheres.json and
panda_allowed_collisions.json (problems of Chamzas et al., RA-L 2022, paths and spheres of the planner VAMP).
Rest to rest; velocity and torque of the URDF, acceleration 15 rad/s^2, jerk 500 rad/s^3; the robot is its
spheres, obstacles are true boxes and cylinders. Problems whose ends lie outside the limits or in penetration
are listed and left out. "given": from the path of the file. "own": from the straight line of the joints,
then, where that leads to no free motion, from paths of `planned_path`; all of their seconds count. Time is
then stretched until speed, acceleration and jerk hold for all times, and torques at 1 kHz.

"solved": the solver converged; at 1 kHz no sphere is within an obstacle, by coal, nor two of the robot within
each other; limits hold, those of torques at 1 kHz. "proved": no contact at any time. Seconds are those of the
processor, from the statement to the motion, and of the proof by itself; kernels are compiled before.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from problems import urdf_arm
from problems.moves.contact_proof import least_clearance_bound
from problems.moves.limit_excess import relative_excess
from problems.moves.motion_limits import MotionLimits, limits_of
from problems.moves.obstacles import SOLVER, keep_clear, least_clearances, solve_clear
from problems.moves.planning.planned_path import planned_path
from problems.moves.spline_limits import proved_lines
from problems.moves.tasks.task_problem import eased
from trajopt.display.samples import times_at_rate

FINGERS = 0.065  # m, where both stand
CLEARANCE = 0.002  # m, at nodes
ACCELERATION, JERK = 15.0, 500.0
INTERVALS, DEGREE, NODES = 16, 5, 4
SEEDS, ON_A_LINE = 4, 2  # planned paths at most; rounds from the straight line
QUICK = replace(SOLVER, max_iterations=25)  # from the straight line
MOST_STRETCHES = 20
ORDERS = {"speed": 1, "acceleration": 2, "jerk": 3}
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


def problem_along(
    clearances: dynamics.Clearances, limits: MotionLimits, path: np.ndarray, clearance: float
) -> trajopt.Problem:
    """Least time between the ends of a path, which is the guess, at rest at both."""
    from scipy.interpolate import PchipInterpolator

    trajectory = trajopt.Trajectory.uniform(INTERVALS, DEGREE, (0.1, 10.0), nodes_per_span=NODES)
    model: Any = clearances.model
    problem = trajopt.Problem(model, trajectory, name="motionbenchmaker")
    problem.start_at(q=path[0], v=0.0, a=0.0)
    problem.end_at(q=path[-1], v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.a, -ACCELERATION, ACCELERATION, name="acceleration")
    problem.subject_to(trajopt.jerk, -JERK, JERK, name="jerk")
    ((times, poses),) = eased([path], limits)
    way, seconds = PchipInterpolator(times, poses), float(times[-1])
    keep_clear(problem, clearances, clearance, way(np.linspace(0.0, seconds, 101)))
    problem.guess(lambda s: way(seconds * np.asarray(s)), duration=seconds)
    return problem


def tries(
    clearances: dynamics.Clearances, limits: MotionLimits, given: np.ndarray, own: bool, clearance: float
) -> Iterator[Any]:
    """Motions from the given path, or from a line and from planned paths."""
    if not own:
        yield solve_clear(problem_along(clearances, limits, given, clearance), clearances, clearance)
        return
    line = problem_along(clearances, limits, given[[0, -1]], clearance)
    yield solve_clear(line, clearances, clearance, QUICK, ON_A_LINE)
    for seed in range(SEEDS):
        path = planned_path(clearances, given[0], given[-1], 0.5 * clearance, seed=seed)
        if path is not None:
            yield solve_clear(problem_along(clearances, limits, path, clearance), clearances, clearance)


def stretched(curve: Any, model: Any, limits: MotionLimits) -> Any:
    """The same spline, slower until speed, acceleration and jerk hold for all times, torques at 1 kHz."""
    lines = [line for line in proved_lines(curve, model, limits) if line.name in ORDERS]
    slower = max(max(1.0 + line.excess, 1.0) ** (1.0 / ORDERS[line.name]) for line in lines)
    found = replace(curve, durations=slower * curve.durations)
    for _ in range(MOST_STRETCHES):
        excess = torque_excess(found, model, limits)
        if excess <= 0.0:
            break
        slower += 0.5 * excess + 1e-6  # what is beyond the torque at rest falls with the square
        found = replace(curve, durations=slower * curve.durations)
    return found


def torque_excess(curve: Any, model: Any, limits: MotionLimits) -> float:
    """The largest at 1 kHz, relative to the limit."""
    t = times_at_rate(curve.duration, 1e3)
    tau = dynamics.rnea(model, curve(t), curve(t, 1), curve(t, 2))
    return float(relative_excess(tau, limits.torque_lower, limits.torque_upper).max())


def solved(model: Any, found: dict[str, Any], path: np.ndarray, own: bool) -> dict[str, Any]:
    """What became of one problem."""
    scene = scene_of(found["objects"])
    limits = limits_of(model, None, ACCELERATION, None, JERK)
    low, high = model.limits.q_lower, model.limits.q_upper
    outside = np.maximum(low - path[[0, -1]], path[[0, -1]] - high).max()
    inside = np.clip(path, low + RANGE_SLACK, high - RANGE_SLACK)
    clearances = dynamics.Clearances(model, scene)
    if outside > 2.0 * RANGE_SLACK:
        return {"bad end": f"{outside:.4f} rad outside the limits"}
    depth = min(
        depth_by_coal(model, scene, inside[[0, -1]]), float(clearances.distances(inside[[0, -1]]).min())
    )
    if depth <= 0.0:
        return {"bad end": f"{-1e3 * depth:.2f} mm in penetration"}
    began, motion, curve = time.process_time(), None, None
    for motion in tries(clearances, limits, inside, own, min(CLEARANCE, 0.9 * depth)):
        curve = stretched(motion.curve, model, limits)
        if motion.converged and least_clearances(clearances, motion)[1].min() > 0.0:
            break
    seconds = time.process_time() - began
    assert motion is not None and curve is not None
    began = time.process_time()
    bound = least_clearance_bound(clearances, curve)
    proof = time.process_time() - began
    q = curve(times_at_rate(curve.duration, 1e3))
    own_least = clearances.distances(q)[:, clearances.pairs[:, 1] < 0].min()
    free = min(depth_by_coal(model, scene, q), float(own_least))
    excess = max(line.excess for line in proved_lines(curve, model, limits))
    excess = max(excess, torque_excess(curve, model, limits))
    return {
        "solved": bool(motion.converged and free > 0.0 and excess <= 1e-6),
        "converged": motion.converged,
        "least": free,
        "excess": excess,
        "proved": bound.proved,
        "duration": curve.duration,
        "seconds": seconds,
        "proof": proof,
    }


def report(rows: dict[str, dict[str, Any]]) -> None:
    """The shares, medians and high ends of all problems and of every scene."""
    scenes = sorted({name.split("/")[0] for name in rows})
    print(f"{'':17} problems bad ends  solved  proved  duration s  seconds: median, nine of ten, most")
    for scene in [*scenes, ""]:
        own = [row for name, row in rows.items() if name.startswith(scene)]
        tried = [row for row in own if "bad end" not in row]
        good = [row for row in tried if row["solved"]]
        seconds = sorted(row["seconds"] for row in tried) or [np.nan]
        proved, high = sum(row["proved"] for row in good), seconds[round(0.9 * (len(seconds) - 1))]
        duration = statistics.fmean(row["duration"] for row in good) if good else np.nan
        print(
            f"{scene or 'all':17} {len(own):8} {len(own) - len(tried):8} {len(good):7} {proved:7}"
            f" {duration:11.3f}  {statistics.median(seconds):.2f}, {high:.2f}, {seconds[-1]:.2f}"
        )
    good = [row for row in rows.values() if row.get("solved")]
    if good:
        times, proofs = [row["duration"] for row in good], [row["proof"] for row in good]
        print(f"durations: {statistics.fmean(times):.3f} +- {statistics.pstdev(times):.3f} s")
        print(f"proof: median {statistics.median(proofs):.3f} s, most {max(proofs):.3f} s")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("folder", type=Path, nargs="?")
    arguments.add_argument("--starts", choices=["given", "own"], default="given")
    arguments.add_argument("--per-scene", type=int, default=60)
    arguments.add_argument("--first", type=int, default=1)
    arguments.add_argument("--every", type=int, default=1, help="of the numbers, every so many")
    asked = arguments.parse_args()
    if asked.folder is None and not asked.smallest:
        arguments.error("FOLDER is needed, with the problems")
    print(loaded_machine())
    chosen = range(asked.first, asked.first + asked.per_scene, asked.every)
    with tempfile.TemporaryDirectory() as place:
        if asked.smallest:
            write_smallest(Path(place))
        report(solved_all(Path(place) if asked.smallest else asked.folder, chosen, asked.starts == "own"))


def write_smallest(folder: Path) -> None:
    """The files of one problem of our own: a small box beside a Panda of three spheres."""
    box = {"type": "box", "name": "box", "dimensions": [0.05] * 3, "position": [-0.6, 0.0, 0.1]}
    box["quaternion_xyzw"] = [0.0, 0.0, 0.0, 1.0]
    first = [0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8]
    scenes = {"box": [{"number": 1, "objects": [box]}]}
    paths = {"box/1": [first, [0.3, *first[1:]]]}
    for name, content in (("panda_problems", scenes), ("panda_planner_paths", paths)):
        with gzip.open(folder / f"{name}.json.gz", "wt") as file:
            json.dump(content, file)
    links = ("panda_link3", "panda_link5", "panda_hand")
    spheres = {link: [[0.0, 0.0, 0.0, 0.04]] for link in links}
    (folder / "panda_spheres.json").write_text(json.dumps(spheres))
    allowed = list(pairwise(links))
    (folder / "panda_allowed_collisions.json").write_text(json.dumps(allowed))


def solved_all(folder: Path, chosen: Sequence[int], own: bool) -> dict[str, dict[str, Any]]:
    """What became of every problem of these numbers, by its name."""
    model = panda(folder)
    with gzip.open(folder / "panda_problems.json.gz") as file:
        scenes = json.load(file)
    with gzip.open(folder / "panda_planner_paths.json.gz") as file:
        paths = json.load(file)
    rows: dict[str, dict[str, Any]] = {}
    wanted = [(scene, each) for scene, of in scenes.items() for each in of if each["number"] in chosen]
    solved(model, wanted[0][1], np.array(paths[f"{wanted[0][0]}/{wanted[0][1]['number']}"]), own)  # compiles
    for scene, found in wanted:
        name = f"{scene}/{found['number']}"
        row = rows[name] = solved(model, found, np.array(paths[name]), own)
        shown = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        print(f"{name}:", ", ".join(shown), flush=True)
    return rows


if __name__ == "__main__":
    main()
