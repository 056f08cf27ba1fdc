"""Robots as URDF and JSON: what loads must be a robot, the same after a round trip, and Pinocchio's too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

import dynamics
import problems
from tests.fuzz.mutations import NASTY_NUMBERS, NASTY_TEXTS, mutated_bytes, mutated_text, pick
from tests.fuzz.verdicts import Mismatch

ROOT = Path(problems.__file__).parents[1]
LEAST_RATIO = 1e-9  # of a negative eigenvalue that rounding may leave of M scaled to unit diagonal
SAME = 1e-6  # relative; mutants mix numbers over many orders of magnitude

ARM = """<robot name="arm">
<link name="base"/>
<link name="upper"><inertial><origin xyz="0.25 0 0" rpy="0 0 0.1"/><mass value="1.5"/>
<inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0.2 0"/><mass value="0.8"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="slider"><inertial><mass value="0.3"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="tool"><inertial><mass value="0.1"/>
<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.3" rpy="0 0.2 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="40" velocity="3"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/><limit effort="20" velocity="3"/></joint>
<joint name="slide" type="prismatic"><parent link="lower"/><child link="slider"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.4" effort="10" velocity="1"/></joint>
<joint name="mount" type="fixed"><parent link="slider"/><child link="tool"/>
<origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/></joint>
</robot>"""
EXTRAS = (
    '<mimic joint="shoulder" multiplier="2" offset="0.1"/>',
    '<transmission name="t"><joint name="shoulder"/><actuator name="m">'
    "<mechanicalReduction>50</mechanicalReduction></actuator></transmission>",
)


class UrdfTarget:
    """URDF texts: a small arm of all joint types, and the robots of the library."""

    name, suffix = "urdf", ".urdf"

    def prepare(self) -> None:
        files = sorted((ROOT / "problems" / "robots").glob("*.urdf"))
        self.seeds = [ARM] * 4 + [path.read_text(encoding="utf-8") for path in files]
        for seed in self.seeds[3:]:
            check_robot(dynamics.load_urdf(seed))

    def mutant(self, rng: np.random.Generator) -> bytes:
        seed = pick(rng, self.seeds)
        if rng.random() < 0.15:
            place = pick(rng, [i for i in range(len(seed)) if seed.startswith("</joint>", i)])
            seed = seed[:place] + pick(rng, EXTRAS[:1]) + seed[place:]
        if rng.random() < 0.1:
            seed = seed.replace("</robot>", pick(rng, EXTRAS[1:]) + "</robot>")
        if rng.random() < 0.1:
            return mutated_bytes(rng, seed.encode())
        return mutated_text(rng, seed).encode("utf-8", "surrogatepass")

    def check(self, data: bytes) -> None:
        path = Path("robot.urdf")
        path.write_bytes(data)
        model = dynamics.load_urdf(path)
        check_robot(model)
        check_against_pinocchio(model, data)


class JsonTarget:
    """Saved models: entries of the JSON replaced, removed, renamed or repeated."""

    name, suffix = "json", ".json"

    def prepare(self) -> None:
        geared = dynamics.RigidBodyModel(
            [
                dynamics.Body(
                    "a", dynamics.Joint("j", rotor=dynamics.Rotor(50.0, 0.1)), None, 1.0, (0.3, 0, 0)
                ),
                dynamics.Body("b", dynamics.Joint("k", "prismatic", position=(1, 0, 0)), "a", 1.0),
            ],
            frames=[dynamics.Frame("tip", "b", position=(0, 0, 1))],
        )
        self.seeds = [dynamics.load_urdf(ARM).to_json(), geared.to_json()]
        for seed in self.seeds:
            self.check(seed.encode())

    def mutant(self, rng: np.random.Generator) -> bytes:
        text = pick(rng, self.seeds)
        if rng.random() < 0.3:
            return mutated_text(rng, text).encode("utf-8", "surrogatepass")
        content = json.loads(text)
        for _ in range(int(rng.integers(1, 4))):
            mutate_entry(rng, content)
        return json.dumps(content).encode("utf-8", "surrogatepass")

    def check(self, data: bytes) -> None:
        check_robot(dynamics.RigidBodyModel.from_json(data.decode("utf-8", "replace")))


def mutate_entry(rng: np.random.Generator, content: object) -> None:
    """Replace, remove, rename or repeat an entry at a random depth."""
    node = content
    while True:
        keys = (
            list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
        )
        if not keys:
            return
        key = pick(rng, keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        break
    kind = int(rng.integers(4))
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[str(pick(rng, NASTY_TEXTS))[:20]] = node[key]
    elif kind == 1:
        node.append(node[key])
    else:
        node[key] = nasty_json(rng, node[key])


def nasty_json(rng: np.random.Generator, value: object) -> object:
    options: list[object] = [
        None,
        True,
        [],
        {},
        [[]],
        [1, 2, 3],
        "x",
        -1,
        0,
        1e308,
        1e-300,
        1e50,
        10**400,
        "1.0",
    ]
    options += [pick(rng, NASTY_TEXTS), pick(rng, NASTY_NUMBERS)]
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        options += [value * float(rng.normal()) * 10.0 ** int(rng.integers(-5, 6)) for _ in range(12)]
    return pick(rng, options)


def check_robot(model: dynamics.RigidBodyModel) -> None:
    """Physics that holds for every robot, and that a round trip through JSON changes nothing."""
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1.0, 1.0, (3, model.n))
    M, tau = dynamics.crba(model, q), dynamics.rnea(model, q, v, a)
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(tau))):
        raise Mismatch("the mass matrix or the torques are not finite")
    scale = np.sqrt(np.abs(np.diag(M)))
    if not np.all(np.diag(M) > 0.0):
        raise Mismatch("the mass matrix has a diagonal entry that is not positive")
    unit = M / np.outer(scale, scale)
    if np.abs(unit - unit.T).max() > SAME or np.linalg.eigvalsh(unit)[0] < -LEAST_RATIO:
        raise Mismatch("the mass matrix is not symmetric and positive")
    energy = 0.5 * v @ M @ v
    if abs(dynamics.kinetic_energy(model, q, v) - energy) > SAME * (
        np.abs(v) @ np.abs(M) @ np.abs(v)
    ) + rounding(model):
        raise Mismatch("the kinetic energy is not v' M v / 2")
    inertial = dynamics.rnea(model, q, 0.0 * v, a) - dynamics.rnea(model, q, 0.0 * v, 0.0 * a)
    size = np.abs(M) @ np.abs(a) + np.abs(dynamics.rnea(model, q, 0.0 * v, 0.0 * a))
    if np.any(np.abs(inertial - M @ a) > SAME * size.max() + rounding(model)):
        raise Mismatch("torques do not grow by M a with the acceleration")
    again = dynamics.RigidBodyModel.from_json(model.to_json())
    if not np.array_equal(dynamics.rnea(again, q, v, a), tau):
        raise Mismatch("a round trip through JSON gives other torques")


def rounding(model: dynamics.RigidBodyModel) -> float:
    """The rounding left where moments about far points cancel: 1e-12 of mass times squared reach."""
    reach = sum(np.abs(body.joint.position).sum() for body in model.bodies)
    reach += max(np.abs(body.centre_of_mass).sum() for body in model.bodies)
    rotors = [joint.rotor for joint in model.joints if joint.rotor is not None]
    reach += sum(np.abs(rotor.position).sum() + np.abs(rotor.centre_of_mass).sum() for rotor in rotors)
    mass = sum(body.mass for body in model.bodies) + sum(rotor.mass for rotor in rotors)
    return 1e-12 * float(mass * (1.0 + reach) ** 2 * (1.0 + np.abs(model.gravity).max()))


def check_against_pinocchio(model: dynamics.RigidBodyModel, data: bytes) -> None:
    """The torques of Pinocchio's own URDF reader, where it reads the file and means the same by it."""
    text = data.decode("utf-8", "ignore")
    differs = ("mimic", "transmission", "planar", "floating", "<!--", "spherical", "world", "\0")
    if any(word in text for word in differs):
        return
    # Of numbers, Pinocchio's parser takes one blank between two for separated and nothing else: beside line
    # breaks, tabs and blanks at the end, which XML makes blanks, it drops the inertia of that link.
    text = re.sub(r'="[-+.\deE\s]*"', lambda numbers: f'="{" ".join(numbers[0][2:-1].split())}"', text)
    import pinocchio

    try:
        theirs = pinocchio.buildModelFromXML(text)
    except Exception:
        return
    # XML turns line breaks within attributes into blanks, which Pinocchio's parser leaves as they are.
    names = {re.sub("[\n\r\t]", " ", name): name for name in list(theirs.names)[1:]}
    if sorted(names) != sorted(model.joint_names):
        raise Mismatch(f"Pinocchio finds the joints {list(names)}")
    rng = np.random.default_rng(2)
    q, v, a = rng.uniform(-1.0, 1.0, (3, model.n))
    at, moved = np.zeros(theirs.nq), np.zeros((2, theirs.nv))
    rows = []
    for i, name in enumerate(model.joint_names):
        joint = theirs.joints[theirs.getJointId(names[name])]
        at[joint.idx_q : joint.idx_q + joint.nq] = q[i] if joint.nq == 1 else (np.cos(q[i]), np.sin(q[i]))
        moved[:, joint.idx_v] = v[i], a[i]
        rows.append(joint.idx_v)
    expected = pinocchio.rnea(theirs, theirs.createData(), at, *moved)[rows]
    M = np.abs(dynamics.crba(model, q))
    size = M @ np.abs(a) + np.abs(dynamics.rnea(model, q, 0 * v, 0 * a)) + np.abs(expected)
    if np.any(np.abs(dynamics.rnea(model, q, v, a) - expected) > SAME * size.max() + rounding(model)):
        raise Mismatch("Pinocchio has other torques")
