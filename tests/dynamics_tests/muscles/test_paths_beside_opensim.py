"""Published models beside OpenSim: lengths, moment arms, forces in joints, where both are at hand.

The environment variable OSIM_MODELS names the folder of the models.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from osim_files import published

import dynamics

ORACLE = Path(__file__).parents[2] / "support" / "path_oracle.py"
NAMES = ("Rajagopal2016", "gait10dof18musc")
WALKING = {"hip_flexion": (-0.5, 1.0), "knee_angle": (-1.3, 0.0), "ankle_angle": (-0.5, 0.4)}  # rad
POSES, LENGTH, ARM = 200, 1e-3, 2e-3


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dynamics.InertiaWarning")
@pytest.mark.parametrize("name", NAMES)
def test_paths_and_joint_reactions_are_those_of_opensim(name, tmp_path):
    path, out = published(f"{name}.osim", beside_opensim=True), tmp_path / "oracle.npz"
    subprocess.run([sys.executable, str(ORACLE), str(path), str(out)], check=True, timeout=500)
    osim, given = dynamics.load_osim(path, repair_inertia=True, muscles=True), np.load(out)
    assert osim.muscles is not None
    columns = [given["coordinates"].tolist().index(name) for name in osim.robot.joint_names]
    rows = [given["muscles"].tolist().index(name) for name in osim.muscles.names]
    joints = [given["joints"].tolist().index(joint.name) for joint in osim.joints]
    q, v, a = (given[key][:, columns] for key in "qva")
    paths = osim.muscles.paths.as_opensim()
    assert np.abs(paths.lengths(q) - given["lengths"][:, rows]).max() < 1e-9
    assert np.abs(paths.moment_arms(q) - given["arms"][:, rows][:, :, columns]).max() < 1e-9
    found = dynamics.joint_reactions(osim.robot, osim.joints, q, v, a, paths, given["tensions"][:, rows])
    weight = osim.robot.total_mass * np.linalg.norm(osim.robot.gravity)
    assert np.abs(found - given["reactions"][:, joints]).max() < 1e-6 * weight


@pytest.mark.long
@pytest.mark.parametrize("walking", [True, False], ids=["ranges of walking", "whole ranges"])
def test_polynomials_name_the_muscles_that_they_miss(walking):
    osim = dynamics.load_osim(published("gait10dof18musc.osim"), muscles=True)
    assert osim.muscles is not None
    paths, limits, names = osim.muscles.paths, osim.robot.limits, osim.robot.joint_names
    ranges = {f"{joint}_{side}": ends for joint, ends in WALKING.items() for side in "rl"} if walking else {}
    fitted = paths.surrogate(ranges=ranges, kept=False)
    ends = np.array([
        ranges.get(name, (limits.q_lower[i], limits.q_upper[i])) for i, name in enumerate(names)
    ]).T  # fmt: skip
    q = np.random.default_rng(3).uniform(*ends, (POSES, len(names)))
    length = np.abs(fitted.lengths(q) - paths.lengths(q)).max(axis=0)
    arm = np.abs(fitted.moment_arms(q) - paths.moment_arms(q)).max(axis=(0, 2))
    missed = {paths.names[i] for i in np.flatnonzero((length > LENGTH) | (arm > ARM))}
    assert missed <= set(fitted.misses(LENGTH, ARM))
    assert bool(missed) != walking
