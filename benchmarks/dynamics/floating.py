"""Times of algorithms of floating robots beside Pinocchio's free flyer, called from Python.

    python -m benchmarks.dynamics.floating

Solo with 18 coordinates and the G1 with 35, at 64 nodes. Ours take all nodes in one call and give derivatives
by the coordinates of the rotation vector; Pinocchio is called node by node in a Python loop. Before anything
is timed the torques of both are compared where both have the same coordinates: base unturned, R = 1. Times
are the least of many rounds in turns, as whatever else the machine does only adds to them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pinocchio

import dynamics
from benchmarks.dynamics.calls import inputs, our_call
from benchmarks.dynamics.measurement import in_turns
from benchmarks.dynamics.pinocchio_peer import PEERS, Peer
from benchmarks.shared.arguments import parser
from benchmarks.shared.markdown import table
from benchmarks.shared.timing import loaded_machine

ROBOTS = ("solo12", "g1")
FUNCTIONS = ("rnea", "rnea_derivatives", "crba", "aba", "aba_derivatives")
NODES = 64
ROUNDS = 60
BASE = 6  # coordinates of the base; Pinocchio's place has seven, the last four a quaternion


def both(name: str) -> tuple[dynamics.RigidBodyModel, Peer]:
    """A robot of `problems/robots` and the same in Pinocchio."""
    text = (files("problems") / "robots" / f"{name}.urdf").read_text(encoding="utf-8")
    ours = dynamics.load_urdf(text, floating_base="free")
    theirs = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    joints = [list(ours.joint_names).index(joint) for joint in list(theirs.names)[2:]]
    return ours, Peer(theirs, theirs.createData(), np.array([*range(BASE), *joints]))


def with_quaternions(q: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(nodes, n + 1) of Pinocchio: the rotation vector of the base as a quaternion x, y, z, w."""
    p = q[:, 3:BASE]
    angle = np.linalg.norm(p, axis=1, keepdims=True)
    vector = 0.5 * np.sinc(0.5 * angle / np.pi) * p
    return np.hstack([q[:, :3], vector, np.cos(0.5 * angle), q[:, order[BASE:]]])


def check(model: dynamics.RigidBodyModel, peer: Peer) -> None:
    """Refuse to compare times of two different robots."""
    q, v, a = (each[:1] for each in (inputs(model, 1)[key] for key in ("q", "v", "a")))
    q[:, 3:BASE] = 0.0
    given = a[0, peer.order].copy()
    given[:3] -= np.cross(v[0, 3:BASE], v[0, :3])  # Pinocchio's are accelerations of axes of the base
    ours = dynamics.rnea(model, q, v, a)[0, peer.order]
    place = with_quaternions(q, peer.order)[0]
    theirs = pinocchio.rnea(peer.model, peer.data, place, v[0, peer.order], given)
    if np.abs(ours - theirs).max() > 1e-9 * np.abs(theirs).max():
        raise ValueError(f"{model.name}: forces differ from Pinocchio's by {np.abs(ours - theirs).max():.1e}")


def rows(name: str, rounds: int) -> list[list[str]]:
    """Microseconds per node of every function, ours and Pinocchio's, and their ratio."""
    model, peer = both(name)
    check(model, peer)
    arrays, found = inputs(model, NODES), []
    places = list(with_quaternions(arrays["q"], peer.order))
    for function in FUNCTIONS:
        calls = [our_call(function, model, arrays), their_call(function, peer, arrays, places)]
        ours, theirs = (1e6 / NODES * min(side) for side in zip(*in_turns(calls, rounds), strict=True))
        found.append([name, f"{model.n}", function, f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}"])
    return found


def their_call(
    function: str, peer: Peer, arrays: dict[str, np.ndarray], places: list[np.ndarray]
) -> Callable[[], object]:
    """Pinocchio in a loop over the nodes, `peer_call` with quaternions."""
    call, keys = getattr(pinocchio, PEERS[function][0]), PEERS[function][1]
    others = [peer.nodes(arrays[key]) for key in keys if key != "q"]
    nodes = list(zip(places, *others, strict=True))

    def loop() -> None:
        for node in nodes:
            call(peer.model, peer.data, *node)

    return loop


def main() -> None:
    smallest = parser(__doc__).parse_args().smallest
    robots, rounds = (ROBOTS[:1], 1) if smallest else (ROBOTS, ROUNDS)
    head = ["robot", "n", "function", "ours, µs", "Pinocchio, µs", "ratio"]
    print(table(head, [row for name in robots for row in rows(name, rounds)]))
    print(f"\n{NODES} nodes; Pinocchio {pinocchio.__version__}; {loaded_machine()}")


if __name__ == "__main__":
    main()
