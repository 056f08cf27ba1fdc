"""Compiles all kernels of rigid-body dynamics, or loads them from the cache on disk, before they are needed.

Kernels know no robot: what is compiled here serves all of them, in this process and, by way of the cache, in
every later one of the same processor and user, until an edit changes a kernel.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.aba import aba
from dynamics.algorithms.aba_derivatives import aba_derivatives
from dynamics.algorithms.christoffel import christoffel_symbols
from dynamics.algorithms.coriolis import coriolis_matrix
from dynamics.algorithms.coriolis_product import coriolis_product
from dynamics.algorithms.crba import crba
from dynamics.algorithms.external_derivatives import external_derivatives
from dynamics.algorithms.rnea import rnea
from dynamics.kernels.code_cache import portable_folder
from dynamics.kernels.compile import cache_folder
from dynamics.model.body import Body
from dynamics.model.joint import Joint
from dynamics.model.rotation_joint import ball_joint
from dynamics.model.rotor import Rotor
from dynamics.model.scene import Scene
from dynamics.model.shape import Shape, box, sphere
from dynamics.muscles.geometry_path import GeometryPath, PathPoint
from dynamics.muscles.muscle_paths import MusclePaths
from dynamics.quantities.clearances import Clearances
from dynamics.quantities.kinematics import forward_kinematics
from dynamics.regressors.regressor import regressor
from dynamics.regressors.regressor_gradient import regressor_gradient
from dynamics.rigid_body_model import RigidBodyModel

NODES = 3
RARELY = (50_000, 20, 20)  # allocations that Python's garbage collector waits for while kernels are compiled
LAST = ("second derivatives of torques", "forward dynamics")  # steps that a solve and its check need last


@dataclass(frozen=True)
class Warmup:
    """Result of a warmup.

    folder : where compiled kernels are kept; None where no folder can be used: each process compiles its own
    compiled : how many kernels were not there and were compiled
    seconds : wall clock of all steps
    """

    folder: Path | None
    compiled: int
    seconds: float

    def __str__(self) -> str:
        made = f"{self.compiled} kernels compiled" if self.compiled else "all kernels loaded"
        kept = f"kept in {self.folder}" if self.folder else "not kept: no folder of this user can be written"
        return f"{made} in {self.seconds:.1f} s, {kept}"


def warmup(progress: Callable[[str, int, int], None] | None = None, *, two_processes: bool = False) -> Warmup:
    """Compile or load every kernel, so that no solve of this process, and none of later ones, waits for it.

    progress : called before every step with what is compiled, its number from 0, and how many steps there are
    two_processes : a second process takes the steps from the last one on; what it has kept is loaded here
    Where all are in the cache they are loaded, and nothing changes.
    """
    began, before, steps = time.perf_counter(), _kept(), _steps()
    other = _second_process(reversed(steps)) if two_processes and cache_folder() else nullcontext()
    with rare_collection(), other:
        for number, (name, step) in enumerate(steps.items()):
            if progress is not None:
                progress(name, number, len(steps))
            step()
    return Warmup(cache_folder(), len(_kept() - before), time.perf_counter() - began)


@contextmanager
def beside_first_solve() -> Generator[None]:
    """A second process that compiles what a robot's solve and its check need last, while the solve compiles
    the rest. It begins only where no kernel is kept and a second processor is there."""
    if cache_folder() is None or portable_folder() is not None or _kept():
        yield
        return
    with rare_collection(), _second_process(LAST) if (os.cpu_count() or 1) > 1 else nullcontext():
        yield


@contextmanager
def rare_collection() -> Generator[None]:
    """Rare looks of Python's garbage collector: Numba keeps all it makes until a kernel is compiled."""
    before = gc.get_threshold()
    if before[0] > 0:  # at zero it is off
        gc.set_threshold(*map(max, before, RARELY))
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _second_process(names: Iterable[str]) -> Generator[None]:
    """These steps, in this order, in a process that ends, wherever it is, with the block.

    Where none can be begun, or Python runs inside another program, the block goes on alone.
    """
    code = "from dynamics.kernel_warmup import _steps, rare_collection\nwith rare_collection():\n"
    code += f"    for name in {list(names)}: _steps()[name]()"
    command, none = [sys.executable, "-P", "-c", code], subprocess.DEVNULL  # not of the user's folder
    try:
        other = subprocess.Popen(command, stdin=none, stdout=none, stderr=none) if sys.executable else None
    except OSError:
        other = None
    try:
        yield
    finally:
        if other is not None:
            other.terminate()
            other.wait()


def _kept() -> set[str]:
    """Names of the files that hold machine code."""
    folder = cache_folder()
    return set() if folder is None else {path.name for path in folder.rglob("*.nbc")}


def _steps() -> dict[str, Callable[[], Any]]:
    """Calls by the name of what each compiles."""
    robot = _robot()
    q, v, a = np.full((3, NODES, robot.n), 0.1)
    link, joint = robot.link_names[-1], robot.joint_names[-1]
    torques = robot.block(("tau", "base_wrench", f"wrench:{joint}"), loads=(link,))
    places = robot.block((f"position:{link}", f"orientation:{link}", f"velocity:{link}"))
    masses = robot.block(("momentum", "kinetic_energy"))
    return {
        "inverse dynamics": lambda: rnea(robot, q, v, a),
        "forward dynamics": lambda: aba(robot, q, v, a),
        "mass matrix": lambda: crba(robot, q),
        "derivatives of torques, wrenches and loads": lambda: _first_derivatives(torques),
        "second derivatives of torques": lambda: _second_derivatives(robot.block(("tau",))),
        "second derivatives of wrenches and loads": lambda: _second_derivatives(torques),
        "poses and velocities of links": lambda: (forward_kinematics(robot, q), _first_derivatives(places)),
        "second derivatives of poses": lambda: _second_derivatives(places),
        "momentum and energy": lambda: _first_derivatives(masses),
        "second derivatives of momentum": lambda: _second_derivatives(masses),
        "derivatives of forward dynamics": lambda: aba_derivatives(robot, q, v, a),
        "derivatives under loads": lambda: external_derivatives(robot, q),
        "Coriolis matrix": lambda: coriolis_matrix(robot, q, v),
        "Coriolis products": lambda: coriolis_product(robot, q, v, a),
        "Christoffel symbols": lambda: christoffel_symbols(robot, q),
        "regressor": lambda: regressor(robot, q, v, a),
        "gradient of the regressor": lambda: _regressor_gradient(robot, q, v, a),
        "rotation vectors": lambda: _rotation_vectors(_ball()),
        "distances of shapes": lambda: _distances(robot, sphere(0.1)),
        "distances of boxes and hulls": lambda: _distances(robot, box((0.1, 0.1, 0.1))),
        "paths of muscles": lambda: _muscle_paths(robot, q),
    }


def _distances(robot: RigidBodyModel, shape: Shape) -> None:
    """Compute the distance of a shape on the last link to a ball in the scene."""
    own = replace(shape, carrier=robot.link_names[-1])
    clearances = Clearances(replace(robot, shapes=(own,)), Scene((sphere(0.1),)))
    q, first = np.full((NODES, robot.n), 0.1), np.zeros(1, dtype=np.int64)
    clearances.distances(q)
    clearances.levers(q)
    clearances.derivatives(q, first, first)


def _muscle_paths(robot: RigidBodyModel, q: ArrayLike) -> None:
    """Compute moment arms of a muscle between the first and the last link."""
    ends = (PathPoint(robot.link_names[i], (0.1, 0.1, 0.1)) for i in (0, -1))
    MusclePaths(robot, (GeometryPath("muscle", tuple(ends)),)).moment_arms(q)


def _regressor_gradient(robot: RigidBodyModel, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
    regressor_gradient(robot, q, v, a, np.ones_like(regressor(robot, q, v, a)))


def _rotation_vectors(ball: RigidBodyModel) -> None:
    q, v, a = np.full((3, NODES, ball.n), 0.1)
    for function in (rnea, aba, aba_derivatives):
        function(ball, q, v, a)
    crba(ball, q)
    torques = ball.block(("tau",))
    _first_derivatives(torques)
    _second_derivatives(torques)


def _inputs(block: Any) -> dict[str, np.ndarray]:
    return {name: np.full((NODES, width), 0.1) for name, width in block.inputs.items()}


def _first_derivatives(block: Any) -> None:
    block.value(_inputs(block))
    block.partials(_inputs(block))


def _second_derivatives(block: Any) -> None:
    block.curvature(_inputs(block), {name: np.ones((NODES, width)) for name, width in block.outputs.items()})


def _robot() -> RigidBodyModel:
    """A slide, and two links that turn on it, one by a geared motor."""
    inertia, centre = 0.1 * np.eye(3), np.array([0.1, 0.0, 0.0])
    bodies = (
        Body("slide", Joint("slide", "prismatic", np.array([1.0, 0.0, 0.0])), None, 1.0, centre, inertia),
        Body("upper", Joint("shoulder", axis=np.array([0.0, 1.0, 0.0])), "slide", 1.0, centre, inertia),
        Body(
            "lower",
            Joint("elbow", rotor=Rotor(5.0, 0.1, 1e-3 * np.eye(3))),
            "upper",
            1.0,
            centre,
            inertia,
        ),
    )
    return RigidBodyModel(bodies, name="slide and two links").with_rotors("exact")


def _ball() -> RigidBodyModel:
    """A link on a ball joint."""
    link = Body("link", Joint("ball"), None, 1.0, np.array([0.1, 0.0, 0.0]), 0.1 * np.eye(3))
    return RigidBodyModel(ball_joint(link), name="ball")
