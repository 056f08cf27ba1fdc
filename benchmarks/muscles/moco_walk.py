"""Muscles of OpenSim's example walk, beside MocoInverse on the same problem.

    python -m benchmarks.muscles.moco_walk FOLDER [TOLERANCE ...]

FOLDER is example3DWalking of opensim-core (subject_walk_scaled.osim and its function-based paths,
coordinates.sto, grf_walk.xml). 80 muscles, 0.48 to 1.61 s, 57 intervals, width 1.5, no passive force. For
every tolerance MocoInverse is run too (package `opensim`; 2 to 6 minutes each). Compared are muscles and
reserves: what else Moco adds, at the pelvis, the trunk and the arms, follows from the motion alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dynamics
import trajopt
from dynamics.muscles.path_polynomials import PathSurrogate
from problems.human.measured.external_loads import MeasuredForce, read_external_loads
from problems.human.measured.inverse_dynamics import JointMoments, joint_moments
from problems.human.motions.motion_file import read_motion
from problems.human.muscles.contact_forces import contact_forces, joint_force
from problems.human.muscles.given_motion import GivenMotion, Tendon, muscles_of_motion
from problems.human.muscles.muscle_use import muscle_use, solve_muscles
from problems.human.opensim.storage import read_storage

MODEL = "subject_walk_scaled"
WINDOW, INTERVALS = (0.48, 1.61), 57
MOCO_INTERVAL = 0.02  # s, of the example, which gives as many
ROUNDING = 1e-9  # s, added to both ends of the window
GUESSES = (0.02, 0.05, 0.5)
KNEE, KNEE_WEIGHT = "walker_knee_r", 10.0
BARRIER = 8e-6  # at which MocoInverse ends at its default tolerance, 1e-3


def main(folder: Path, tolerances: list[float]) -> None:
    """Print a line for each solve: objective, iterations, processor seconds, largest force in a knee."""
    walk = read_walk(folder)
    for label, motion, solver in runs(walk):
        began = time.process_time()
        if solver is None:
            use = solve_muscles(motion)
        else:
            solution = trajopt.solve(motion.problem, solver, refine=None, starts=1, coarse_to_fine=False)
            use = muscle_use(motion, solution)
        seconds = time.process_time() - began
        loads = contact_forces(walk.model, motion.moments, use, walk.forces)
        knee = f"  {loads.force(KNEE).max() / loads.weight:.2f} body weights"
        show(label, use.solution.objective, use.solution.iterations, seconds, knee)
    for tolerance in tolerances:  # in processes without our solver's CasADi, beside which OpenSim's fails
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
            found = own.submit(moco, folder, tolerance).result()
        show(f"MocoInverse, tolerance {tolerance:g}", *found)


def show(label: str, objective: float, iterations: int, seconds: float, more: str = "") -> None:
    """Print one line."""
    print(f"{label:<45} {objective:10.6f} {iterations:5d} {seconds:8.2f} s{more}", flush=True)


@dataclass(frozen=True, eq=False)
class Walk:
    """The model, its joint moments along the walk, its function-based paths, and the forces of the ground."""

    model: dynamics.OsimModel
    moments: JointMoments
    paths: PathSurrogate
    forces: tuple[MeasuredForce, ...]

    def posed(self, tendon: Tendon = "rigid", intervals: int = INTERVALS) -> GivenMotion:
        """The problem of Moco's example."""
        return muscles_of_motion(
            self.model, self.moments, tendon=tendon, paths=self.paths, intervals=intervals, width_scale=1.5,
            passive=False,
        )  # fmt: skip


def read_walk(folder: Path) -> Walk:
    """The walk of a folder."""
    model = dynamics.load_osim(folder / f"{MODEL}.osim", muscles=True)
    motion = read_motion(folder / "coordinates.sto", model.robot.joint_names)
    window = (WINDOW[0] - ROUNDING, WINDOW[1] + ROUNDING)
    loads = read_external_loads(folder / "grf_walk.xml")
    moments = joint_moments(model, motion, loads, cutoff=None, window=window)
    paths = dynamics.load_function_paths(
        folder / f"{MODEL}_FunctionBasedPathSet.xml", model.robot.joint_names
    )
    return Walk(model, moments, paths, loads)


def runs(walk: Walk) -> Iterator[tuple[str, GivenMotion, trajopt.Ipopt | None]]:
    """Tolerances and a barrier like Moco's, guesses, twice the intervals, the knee as a cost, compliance."""
    for tolerance in (1e-3, 1e-6):
        yield f"tolerance {tolerance:g}", walk.posed(), trajopt.Ipopt(tol=tolerance)
    yield f"barrier kept at {BARRIER:g}", walk.posed(), trajopt.Ipopt(options={"mu_target": BARRIER})
    for guess in GUESSES:
        motion = walk.posed()
        motion.problem.guess(x=np.full((2, motion.block.m), guess))
        yield f"tolerance 1e-9, all activations {guess:g}", motion, trajopt.Ipopt(tol=1e-9)
    yield "twice the intervals", walk.posed(intervals=2 * INTERVALS), trajopt.Ipopt(tol=1e-6)
    motion = walk.posed()
    load = joint_force(walk.model, motion, KNEE, walk.forces)
    motion.problem.minimize(KNEE_WEIGHT * load**2, name="load of the knee")
    yield "load of the right knee as a cost", motion, None
    yield "compliant tendons", walk.posed("compliant"), None


def moco(folder: Path, tolerance: float) -> tuple[float, int, float]:
    """MocoInverse: integral of squared muscle excitations and reserves, iterations, processor seconds."""
    osim = import_module("opensim")
    osim.Logger.setLevelString("error")
    toes = osim.StdVectorString()
    for toe in ("mtp_r", "mtp_l"):
        toes.append(toe)
    model = osim.ModelProcessor(str(folder / f"{MODEL}.osim"))
    for change in (
        osim.ModOpAddExternalLoads(str(folder / "grf_walk.xml")), osim.ModOpReplaceJointsWithWelds(toes),
        osim.ModOpAddResiduals(250.0, 50.0, 1.0), osim.ModOpIgnoreTendonCompliance(),
        osim.ModOpReplaceMusclesWithDeGrooteFregly2016(), osim.ModOpIgnorePassiveFiberForcesDGF(),
        osim.ModOpScaleActiveFiberForceCurveWidthDGF(1.5),
        osim.ModOpReplacePathsWithFunctionBasedPaths(str(folder / f"{MODEL}_FunctionBasedPathSet.xml")),
        osim.ModOpAddReserves(1.0),
    ):  # fmt: skip
        model.append(change)
    inverse = osim.MocoInverse()
    inverse.setModel(model)
    inverse.setKinematics(osim.TableProcessor(str(folder / "coordinates.sto")))
    inverse.set_initial_time(WINDOW[0])
    inverse.set_final_time(WINDOW[1])
    inverse.set_mesh_interval(MOCO_INTERVAL)
    inverse.set_kinematics_allow_extra_columns(True)
    inverse.set_convergence_tolerance(tolerance)
    inverse.set_constraint_tolerance(tolerance)
    with TemporaryDirectory() as place, chdir(place):  # Moco writes a file where it runs
        began = time.process_time()
        solved = inverse.solve()  # holds the solution, which ends with it
        seconds, solution = time.process_time() - began, solved.getMocoSolution()
        if solution.isSealed():
            solution.unseal()
        solution.write("solution.sto")
        table = read_storage("solution.sto")
    muscles = [name for name in table.columns if name.endswith("/activation")]
    priced = [name.removesuffix("/activation") for name in muscles]
    priced += [name for name in table.columns if "/reserve_" in name]
    weights = simpson_weights(table.time)
    objective = sum(float(weights @ table.columns[name] ** 2) for name in priced)
    return objective, solution.getNumIterations(), seconds


def simpson_weights(time: np.ndarray) -> np.ndarray:
    """Weights of the times of a Hermite-Simpson mesh: ends and middles of its intervals."""
    weights, lengths = np.zeros(time.size), time[2::2] - time[:-2:2]
    for first, share in ((0, 1.0), (1, 4.0), (2, 1.0)):
        weights[first : first + 2 * lengths.size : 2] += share * lengths / 6.0
    return weights


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), [float(word) for word in sys.argv[2:]])
