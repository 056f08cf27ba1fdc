"""The exported body, motion and loads are those of the walk: by NumPy, by Pinocchio, by OpenSim itself."""

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from numpy.polynomial import Chebyshev
from osim_files import OPENSIM, read_osim, run_opensim  # pyright: ignore  (tests/support is on the path)
from swinging_person import swinging_person  # pyright: ignore
from tiers import fast_first

import dynamics
import trajopt
from problems import gait
from problems.human.assessment.exports import export, export_body
from problems.human.body.person import Person
from problems.human.body.tables import contact_points, segments
from problems.human.opensim.coordinates import coordinate_values
from problems.human.opensim.osim_model import osim_model
from problems.human.opensim.storage import read_storage

with_opensim = pytest.mark.skipif(not OPENSIM, reason="pip install -e '.[opensim]'")

# Some are of imposed contact with the cost with sources, which warns.
pytestmark = pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
PERSONS = {
    "adult": Person(),
    "child under a pack": Person(1.25, 25.0, backpack=3.0),
    "uphill with a load": Person(1.8, 90.0, hand_load=5.0, slope=0.1),
}


@pytest.fixture(scope="module")
def walk():
    """A walk in the plane, all of whose constraints are met."""
    return solved_at_defaults("planar_walker")


@pytest.fixture(scope="module")
def folder(walk, tmp_path_factory):
    place = tmp_path_factory.mktemp("walk")
    export(walk, place)
    return place


@pytest.fixture(scope="module")
def waving(tmp_path_factory):
    """A person all of whose joints swing, and the folder in which OpenSim has computed the torques."""
    body = swinging_person(1001)
    place = tmp_path_factory.mktemp("waving")
    export_body(body, place)
    run_opensim(place)
    return body, place


@fast_first("who", PERSONS, 1)
def test_the_model_file_places_every_body_where_our_kinematics_places_it(who, tmp_path):
    model = PERSONS[who].skeleton()
    osim_model(model, 0.9).write(tmp_path / "body.osim")
    theirs, rng = read_osim(tmp_path / "body.osim"), np.random.default_rng(1)
    names = [*theirs.bodies, *theirs.markers]
    for _ in range(5):
        q = rng.uniform(-0.5, 0.5, model.n)
        poses = theirs.poses({name: x[0] for name, x in coordinate_values(q[None]).items()})
        ours = dynamics.forward_kinematics(model, q, names)
        for name, rotation, place in zip(names, ours.rotation, ours.position, strict=True):
            body, point = theirs.markers.get(name, (name, np.zeros(3)))
            R, p = poses[body]
            assert np.abs(R - rotation).max() < 1e-12 and np.abs(p + R @ point - place).max() < 1e-12, name


@fast_first("who", PERSONS, 1)
def test_bodies_carry_their_masses_centres_and_inertias(who, tmp_path):
    person = PERSONS[who]
    model = person.skeleton()
    osim_model(model, 0.9).write(tmp_path / "body.osim")
    theirs = read_osim(tmp_path / "body.osim")
    assert theirs.bodies.keys() == segments().keys() and theirs.markers.keys() == contact_points().keys()
    for name, (mass, centre, inertia) in theirs.bodies.items():
        body = model.bodies[model.link_index(name)]
        assert mass == body.mass and np.array_equal(centre, body.centre_of_mass)
        assert np.array_equal(inertia, body.inertia)
    assert sum(mass for mass, *_ in theirs.bodies.values()) == pytest.approx(person.total_mass, rel=1e-12)
    assert np.array_equal(theirs.gravity, model.gravity)


def test_raised_knees_toes_and_leaning_backwards_are_positive_as_in_opensim():
    """Signs that users of OpenSim know, as turns about axes: x is forward, y up, z to the right."""
    model = Person().skeleton()
    file = osim_model(model, 0.9)
    found = {}
    for each in file.iter("TransformAxis"):
        if each.findtext("coordinates"):
            found[each.findtext("coordinates")] = [float(x) for x in each.findtext("axis", "").split()]
    assert found["pelvis_tilt"] == found["lumbar_extension"] == found["hip_flexion_r"] == [0.0, 0.0, 1.0]
    assert found["knee_angle_r"] == found["knee_angle_l"] == [0.0, 0.0, -1.0]
    assert found["ankle_angle_l"] == found["mtp_angle_l"] == found["arm_flex_l"] == [0.0, 0.0, 1.0]
    assert found["hip_adduction_r"] == found["subtalar_angle_r"] == found["pelvis_list"] == [1.0, 0.0, 0.0]
    assert found["hip_adduction_l"] == found["arm_add_l"] == [-1.0, 0.0, 0.0]
    assert found["hip_rotation_r"] == found["pelvis_rotation"] == found["pro_sup_r"] == [0.0, 1.0, 0.0]


@pytest.mark.long
def test_the_motion_has_a_column_for_every_coordinate_of_the_model_and_no_other(folder):
    model = read_osim(folder / "body.osim")
    motion = read_storage(folder / "coordinates.mot")
    assert sorted(model.coordinates) == sorted(motion.columns) and len(model.coordinates) == 55
    forces = read_storage(folder / "torques.sto").columns
    assert {name.rpartition("_")[0] for name in forces} == set(model.coordinates)
    assert "pelvis_tx_force" in forces and "pelvis_tilt_moment" in forces and "knee_angle_r_moment" in forces
    assert len(read_storage(folder / "joint_forces.sto").columns) == 6 * len(model.joints)


def test_external_loads_name_bodies_of_the_model_and_columns_of_their_file(folder):
    model, columns = read_osim(folder / "body.osim"), read_storage(folder / "loads.mot").columns
    loads: Any = ElementTree.parse(folder / "external_loads.xml").getroot().find("ExternalLoads")
    assert loads.findtext("datafile") == "loads.mot"
    named = set()
    for force in loads.find("objects"):
        assert force.findtext("applied_to_body") in model.bodies
        for which in ("force", "point", "torque"):
            named |= {force.findtext(f"{which}_identifier") + axis for axis in "xyz"}
    assert named == set(columns)
    setup: Any = ElementTree.parse(folder / "inverse_dynamics.xml").getroot().find("InverseDynamicsTool")
    for tag in ("model_file", "external_loads_file", "coordinates_file"):
        assert (folder / setup.findtext(tag)).is_file()


@pytest.mark.long
def test_centres_of_pressure_are_under_the_soles_wherever_there_is_force(folder):
    assert_pressure_under_soles(folder)


@pytest.mark.long
def test_pinocchio_finds_balance_and_our_torques_from_the_files_alone(folder):
    """Second derivatives come from the rows of the file, by a polynomial in every span of the spline."""
    pytest.importorskip("pinocchio")
    missing, difference, weight = recomputed(folder, spans=5)
    assert missing < 1e-6 * weight
    assert difference < 1e-6 * weight


@pytest.mark.long
def test_feet_do_not_slip_sink_or_leave_the_friction_cone_in_the_files(folder, walk):
    slip, depth, cone = contact(folder, walk)
    assert slip < 7.5e-3  # m: standing points are held within 5 mm along each axis
    assert depth < 3.3e-3  # m, what the walk in the plane permits
    assert cone < 0.7


@pytest.mark.long
@with_opensim
def test_opensim_returns_the_torques_of_55_joints_that_all_swing(waving):
    place = waving[1]
    ours, theirs = (read_storage(place / name) for name in ("torques.sto", "inverse_dynamics.sto"))
    assert np.allclose(theirs.time, ours.time, atol=1e-8)
    inside = slice(10, -10)  # OpenSim's spline has no curvature at its ends
    for name, tau in ours.columns.items():
        error = np.abs(theirs.columns[name] - tau)[inside].max()
        assert error < (1e-3 if name.startswith("pelvis") else 1e-5 * np.abs(tau).max()), name


@pytest.mark.long
@with_opensim
def test_opensim_places_bodies_where_we_do(waving):
    body, place = waving
    assert_same_places(place, body)


@pytest.mark.long
@with_opensim
def test_opensim_finds_a_walk_balanced(folder):
    """To 1 N and 1 N m, but for rows beside the ends of its spline and the jump of accelerations."""
    run_opensim(folder)
    root, joints = opensim_differences(folder)
    away = distance_in_rows(root.shape[1])
    assert np.abs(root[:, away > 1]).max() < 1.0
    assert np.abs(joints[:, away > 5]).max() < 0.5


@pytest.mark.thorough("the walk in the plane stands for it")
def test_a_walk_in_three_dimensions_balances_for_pinocchio_and_for_opensim(tmp_path):
    pytest.importorskip("pinocchio")
    held = {"intervals": 7, "contact_drift": 1.1e-3}
    problem = gait.build(contact="imposed", speed=1.253, step_length=0.717, **held)
    solution = trajopt.solve(problem, progress="silent")
    export(solution, tmp_path)
    missing, difference, weight = recomputed(tmp_path, spans=7)
    assert max(missing, difference) < 1e-6 * weight
    assert_pressure_under_soles(tmp_path, across=0.05)
    slip, depth, cone = contact(tmp_path, solution)
    assert slip < 2e-3 and depth < 5.5e-3 and cone < 0.7
    if OPENSIM:
        run_opensim(tmp_path)
        root, joints = opensim_differences(tmp_path)
        away = distance_in_rows(root.shape[1])
        assert np.abs(root[:, away > 1]).max() < 1.0
        assert np.abs(joints[:, away > 5]).max() < 0.5


def opensim_differences(folder):
    """OpenSim's generalized forces less ours: of the pelvis (6, K), which nothing drives, and of joints."""
    ours, theirs = (read_storage(folder / name).columns for name in ("torques.sto", "inverse_dynamics.sto"))
    of_pelvis = [name.startswith("pelvis") for name in ours]
    apart = np.array([theirs[name] - tau for name, tau in ours.items()])
    return apart[of_pelvis], apart[np.logical_not(of_pelvis)]


def assert_same_places(place, body):
    """Centres of mass of all bodies along the motion, OpenSim's to 1e-6 m of ours."""
    theirs = read_storage(place / "walk_places_pos_global.sto")
    for name in segments():
        pose = dynamics.forward_kinematics(body.model, body.q, [name])
        centre = body.model.bodies[body.model.link_index(name)].centre_of_mass
        ours = pose.position[:, 0] + pose.rotation[:, 0] @ centre
        found = np.stack([theirs.columns[f"{name}_{axis}"] for axis in "XYZ"], axis=1)
        assert np.abs(found - ours).max() < 1e-6, name


def values_of(folder, model):
    """Time (K,) and coordinates (K, 55) in rad and m, in the order of the model."""
    motion = read_storage(folder / "coordinates.mot")
    slides = {each.coordinate for joint in model.joints for each in joint.motions if not each.turns}
    columns = [
        motion.columns[name] * (1.0 if name in slides else np.pi / 180.0) for name in model.coordinates
    ]
    return motion.time, np.array(columns).T


def reactions_of(folder, side):
    """Force (K, 3), place (K, 3) and free moment (K, 3) on the foot of a side."""
    columns = read_storage(folder / "ground_reactions.mot").columns
    names = (f"ground_force_{side}_v", f"ground_force_{side}_p", f"ground_torque_{side}_")
    return tuple(np.stack([columns[name + axis] for axis in "xyz"], axis=1) for name in names)


def recomputed(folder, spans):
    """By Pinocchio: what is missing at the pelvis, the largest difference of torques, and the weight."""
    import pinocchio as pin

    osim = read_osim(folder / "body.osim")
    model, number = osim.pinocchio()
    data, (time, q) = model.createData(), values_of(folder, osim)
    q = q - [motion.zero for joint in osim.joints for motion in joint.motions]
    torques = read_storage(folder / "torques.sto").columns
    kinds = ["moment" if motion.turns else "force" for joint in osim.joints for motion in joint.motions]
    ours = np.array([torques[f"{n}_{k}"] for n, k in zip(osim.coordinates, kinds, strict=True)]).T
    feet = {side: reactions_of(folder, side) for side in "rl"}
    missing = difference = 0.0
    for first, last in pairwise(np.linspace(0.0, time[-1], 2 * spans + 1)):
        rows = np.flatnonzero((time > first - 1e-9) & (time < last + 1e-9))
        curves = [Chebyshev.fit(time[rows], column, 16) for column in q[rows].T]
        for row in rows[1:-1:7]:
            state = [np.array([curve.deriv(k)(time[row]) for curve in curves]) for k in (1, 2)]
            pin.forwardKinematics(model, data, q[row])
            loads = [pin.Force.Zero() for _ in range(model.njoints)]
            for side, (force, place, free) in feet.items():
                foot = number[f"hindfoot_{side}"]
                about_origin = np.cross(place[row], force[row]) + free[row]
                loads[foot] = data.oMi[foot].actInv(pin.Force(force[row], about_origin))
            tau = pin.rnea(model, data, q[row], *state, loads)
            missing = max(missing, np.abs(tau[:6]).max())
            difference = max(difference, np.abs(tau - ours[row]).max())
    return missing, difference, 9.81 * sum(mass for mass, *_ in osim.bodies.values())


def places_of_markers(folder):
    """Time (K,) and marker -> places (K, 3) along the motion."""
    model = read_osim(folder / "body.osim")
    time, q = values_of(folder, model)
    found = {name: [] for name in model.markers}
    for row in q:
        poses = model.poses(dict(zip(model.coordinates, row, strict=True)))
        for name, (body, point) in model.markers.items():
            R, p = poses[body]
            found[name].append(p + R @ point)
    return time, {name: np.array(places) for name, places in found.items()}


def contact(folder, solution):
    """Largest distance of a standing point from its place, depth in the ground (m), and friction."""
    time, places = places_of_markers(folder)
    slip = 0.0
    for band in solution.problem.constraints:
        point, stays, _ = band.name.partition(" stays")
        if stays:
            held = np.isfinite(band.lower)
            first, last = np.multiply(band.over.written, solution.duration)
            standing = places[point][(time >= first) & (time <= last)][:, held]
            apart = standing - 0.5 * (band.lower[held] + band.upper[held])
            slip = max(slip, np.linalg.norm(apart, axis=1).max())
    depth = -min(points[:, 1].min() for points in places.values())
    cone = 0.0
    for side in "rl":
        force = reactions_of(folder, side)[0]
        loaded = force[:, 1] > 1e-6
        assert np.abs(force[~loaded]).max() < 1e-6
        cone = max(cone, (np.hypot(force[:, 0], force[:, 2])[loaded] / force[loaded, 1]).max())
    return slip, depth, cone


def assert_pressure_under_soles(folder, across=np.inf):
    """Wherever a foot is pushed, it is pushed within 1 cm of its sole, and `across` m of its middle line."""
    time, places = places_of_markers(folder)
    travelled = places["heel_r"][-1, 0] - places["heel_r"][0, 0]
    for side, strikes in (("r", 0), ("l", time.size // 2)):
        force, place, _ = reactions_of(folder, side)
        heel, toe = (places[f"{point}_{side}"] for point in ("heel", "toe"))
        length = np.linalg.norm(toe - heel, axis=1).max()
        earlier = np.arange(time.size) < strikes  # stands where it will stand again a cycle later
        ahead = place[:, 0] - heel[strikes, 0] + np.where(earlier, travelled, 0.0)
        aside = place[:, 2] - heel[strikes, 2]
        pushed = force[:, 1] > 0.0
        assert pushed.sum() > 0.5 * time.size
        assert ahead[pushed].min() > -0.01 and ahead[pushed].max() < length + 0.01
        assert np.abs(aside[pushed]).max() < across


def distance_in_rows(count):
    """The distance in rows from the nearest of first, middle and last one, (K,)."""
    rows = np.arange(count)
    return np.minimum.reduce([rows, np.abs(rows - count // 2), rows[-1] - rows])
