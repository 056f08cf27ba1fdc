"""A Panda among obstacles in least time: problems of MotionBenchMaker by `moves.Task`.

    python -m benchmarks.motionbenchmaker FOLDER [--per-scene 60] [--first 1] [--every 1]

FOLDER holds panda_problems.json.gz, panda_spheres.json and panda_allowed_collisions.json (problems of Chamzas
et al., RA-L 2022, spheres of the planner VAMP). Rest to rest; velocity and torque of the URDF, acceleration
15 rad/s^2, jerk 500 rad/s^3; the robot is its spheres, obstacles are true boxes and cylinders. A problem is a
`moves.Task` from its start to its goal, solved as it is by default. Problems whose ends lie outside the
limits or in penetration are listed and left out.

"solved": the motion converged: its limits hold, speed, acceleration and jerk for all times; and at 1 kHz no
sphere is within an obstacle, by coal. "proved": the clearance holds for all times, too. Seconds are those of
the processor, from the statement to the certificate; kernels are compiled before.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from problems import moves, urdf_arm
from trajopt.display.curves import times_at_rate

FINGERS = 0.065  # m, where both stand
CLEARANCE = 0.002  # m
ACCELERATION, JERK = 15.0, 500.0
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


def solved(robot: moves.Robot, found: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one problem."""
    model, scene = robot.model, scene_of(found["objects"])
    low, high = model.limits.q_lower, model.limits.q_upper
    ends = np.array([found["start"], found["goal"]])
    outside = np.maximum(low - ends, ends - high).max()
    if outside > 2.0 * RANGE_SLACK:
        return {"bad end": f"{outside:.4f} rad outside the limits"}
    ends = np.clip(ends, low + RANGE_SLACK, high - RANGE_SLACK)
    clearances = dynamics.Clearances(model, scene)
    depth = min(depth_by_coal(model, scene, ends), float(clearances.distances(ends).min()))
    if depth <= 0.0:
        return {"bad end": f"{-1e3 * depth:.2f} mm in penetration"}
    began = time.process_time()
    task = moves.Task(robot, scene, min(CLEARANCE, 0.9 * depth))
    task.start(q=ends[0])
    task.to(q=ends[1])
    task.limits(acceleration=ACCELERATION, jerk=JERK)
    motion = task.solve()
    certificate = motion.certificate
    seconds = time.process_time() - began
    least = depth_by_coal(model, scene, motion.q(times_at_rate(motion.duration, 1e3)))
    return {
        "solved": motion.converged and least > 0.0,
        "least": least,
        "excess": certificate.excess,
        "proved": certificate["clearance"].evidence == "proved",
        "duration": motion.duration,
        "seconds": seconds,
    }


def report(rows: dict[str, dict[str, Any]]) -> None:
    """Print the shares, medians and high ends of every scene and of all problems."""
    scenes = sorted({name.split("/")[0] for name in rows})
    print(f"{'':17} problems bad ends  solved  proved  duration s  seconds: median, nine of ten, most")
    for scene in [*scenes, ""]:
        every = [row for name, row in rows.items() if name.startswith(f"{scene}/") or not scene]
        tried = [row for row in every if "bad end" not in row]
        good = [row for row in tried if row["solved"]]
        seconds = sorted(row["seconds"] for row in tried) or [np.nan]
        proved, high = sum(row["proved"] for row in good), seconds[round(0.9 * (len(seconds) - 1))]
        duration = statistics.fmean(row["duration"] for row in good) if good else np.nan
        print(
            f"{scene or 'all':17} {len(every):8} {len(every) - len(tried):8} {len(good):7} {proved:7}"
            f" {duration:11.3f}  {statistics.median(seconds):.2f}, {high:.2f}, {seconds[-1]:.2f}"
        )
    times = [row["duration"] for row in rows.values() if row.get("solved")]
    if times:
        print(f"durations: {statistics.fmean(times):.3f} +- {statistics.pstdev(times):.3f} s")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("folder", type=Path, nargs="?")
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
        report(solved_all(Path(place if asked.smallest else asked.folder), chosen))


def write_smallest(folder: Path) -> None:
    """Write the files of one problem of our own: a small box beside a Panda of three spheres."""
    box = {"type": "box", "name": "box", "dimensions": [0.05] * 3, "position": [-0.6, 0.0, 0.1]}
    box["quaternion_xyzw"] = [0.0, 0.0, 0.0, 1.0]
    first = [0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8]
    scenes = {"box": [{"number": 1, "objects": [box], "start": first, "goal": [0.3, *first[1:]]}]}
    with gzip.open(folder / "panda_problems.json.gz", "wt") as file:
        json.dump(scenes, file)
    links = ("panda_link3", "panda_link5", "panda_hand")
    spheres = {link: [[0.0, 0.0, 0.0, 0.04]] for link in links}
    (folder / "panda_spheres.json").write_text(json.dumps(spheres))
    allowed = list(pairwise(links))
    (folder / "panda_allowed_collisions.json").write_text(json.dumps(allowed))


def solved_all(folder: Path, chosen: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The outcome of every problem of these numbers, by its name."""
    robot = moves.robot(panda(folder))
    with gzip.open(folder / "panda_problems.json.gz") as file:
        scenes = json.load(file)
    rows: dict[str, dict[str, Any]] = {}
    wanted = [(scene, each) for scene, of in scenes.items() for each in of if each["number"] in chosen]
    wanted.sort(key=lambda each: each[1]["number"])
    solved(robot, wanted[0][1])  # compiles
    for scene, found in wanted:
        name = f"{scene}/{found['number']}"
        row = rows[name] = solved(robot, found)
        shown = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        print(f"{name}:", ", ".join(shown), flush=True)
    return rows


if __name__ == "__main__":
    main()
