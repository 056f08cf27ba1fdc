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


WALKING_FREELY = {
    "hip_flexion_r": (-0.5, 1.0), "hip_adduction_r": (-0.3, 0.2), "hip_rotation_r": (-0.3, 0.3),
    "knee_angle_r": (0.0, 1.3), "ankle_angle_r": (-0.5, 0.4), "subtalar_angle_r": (-0.3, 0.3),
}  # fmt: skip


def fitted_beside(name, muscles, knee):
    """Errors (muscles,) of lengths and arms over ranges of walking, and the paths"""
    osim = dynamics.load_osim(published(f"{name}.osim"), repair_inertia=True, muscles=True)
    ranges = {**WALKING_FREELY, "knee_angle_r": knee}
    ends = np.array([ranges.get(name, (0.0, 0.0)) for name in osim.robot.joint_names]).T
    q = np.random.default_rng(3).uniform(*ends, (POSES, len(osim.robot.joint_names)))
    paths = osim.muscles.paths.only(muscles)
    fitted = paths.surrogate(ranges=ranges, kept=False)
    length = np.abs(fitted.lengths(q) - paths.lengths(q)).max(axis=0)
    arm = np.abs(fitted.moment_arms(q) - paths.moment_arms(q)).max(axis=(0, 2))
    return length, arm, fitted, paths, q, osim.robot.joint_names


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dynamics.InertiaWarning")
def test_wraps_are_fitted_over_ranges_of_walking():
    muscles = ("gasmed_r", "recfem_r", "semimem_r", "psoas_r", "glmax3_r", "soleus_r")
    length, arm, *_ = fitted_beside("Rajagopal2016", muscles, (0.0, 1.3))
    assert length.max() < LENGTH and arm.max() < ARM


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dynamics.InertiaWarning")
def test_no_continuous_function_is_near_a_path_that_jumps():
    """A point of the iliacus counts up to 0.785 rad of hip flexion, where its length jumps by 5 mm."""
    given = fitted_beside("gait2392_thelen2003muscle", ("iliacus_r", "glut_med1_r"), (-1.3, 0.0))
    length, arm, fitted, paths, q, names = given
    assert fitted.misses(LENGTH, ARM) == ("iliacus_r",) and length[1] < LENGTH and arm[1] < ARM
    before, behind = q.copy(), q.copy()
    before[:, names.index("hip_flexion_r")] = 0.785398 - 1e-4
    behind[:, names.index("hip_flexion_r")] = 0.785398 + 1e-4
    jump = np.abs(paths.lengths(behind) - paths.lengths(before))[:, 0].max()
    assert jump > 4.0 * LENGTH and fitted.length_errors[0] > 0.4 * jump
