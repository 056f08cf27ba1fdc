"""Ligaments of OpenSim's files: numbers of OpenSim 4.6, derivatives, joint reactions, bad input, use."""

import numpy as np
import pytest
from block_derivatives import check_curvature, check_partials
from muscled_arm import MUSCLE  # pyright: ignore  (tests/support is on the path)
from osim_text import body, joint, osim_text, spline  # pyright: ignore
from slopes import extrapolated

import dynamics
import trajopt
from dynamics.errors import MuscleError
from dynamics.muscles.ligament_block import LIGAMENTS, LigamentBlock
from problems.human.muscles.driven import muscle_problem

CURVE = spline([0, 0.9, 1, 1.05, 1.1, 1.2, 1.4, 2], [0, 0, 0, 0.1, 0.4, 1, 2, 5]).replace(
    'name="function"', 'name="force_length_curve"'
)
# elbow in rad, tension in N and moment in N m of OpenSim with this curve, and with its own
OPENSIM = np.array([
    (-0.9, 0.0, 0.0, 0.0, 0.0),
    (-0.2, 49.21951742170557, -3.30902435278445, 4.299604525850889, -0.289062080017643),
    (0.1, 144.8940395402256, -7.509707697950062, 14.81605394095692, -0.7679006996195883),
    (0.4, 206.26047133986506, -7.122800498314593, 25.181155646279464, -0.8695817808440679),
    (0.8, 246.01250669396148, -2.398535167105829, 33.66339608702509, -0.32820623814620203),
    (1.2, 240.8445536757983, 3.7581576609164005, 32.433749299249186, 0.5060988157751467),
    (1.45, 214.77288948208692, 6.675196427217519, 26.838638040906083, 0.8341517460330239),
])  # fmt: skip


def strap(curve="", rest=0.24, strength=200, more=""):
    return f"""<Ligament name="strap">{more}<GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>-0.05 0.2 0</location>
</PathPoint><PathPoint name="b"><socket_parent_frame>/bodyset/fore</socket_parent_frame>
<location>-0.06 -0.07 0.02</location></PathPoint></objects></PathPointSet></GeometryPath>
<resting_length>{rest}</resting_length><pcsa_force>{strength}</pcsa_force>{curve}</Ligament>"""


def arm(*forces):
    """A forearm with a flexor and these forces."""
    flexor = MUSCLE.format(name="flexor", force=400, start="0.05 0.25 0", end="0.04 -0.05 0")
    hinge = joint("PinJoint", "hinge", "ground", "fore", ("elbow",))
    fore = body("fore", 4.0, "0 -0.2 0", "0.02 0.002 0.02 0 0 0")
    return osim_text([fore], [hinge], forces="".join((flexor, *forces)))


def ligaments_of(*forces):
    found = dynamics.load_osim(arm(*forces), muscles=True).ligaments
    assert found is not None
    return found


@pytest.mark.parametrize(("curve", "columns"), [(CURVE, (1, 2)), ("", (3, 4))], ids=["a curve", "no curve"])
def test_tensions_and_moments_are_those_of_opensim(curve, columns):
    ligaments, q = ligaments_of(strap(curve)), OPENSIM[:, :1]
    tensions = ligaments.straps.tensions(ligaments.paths.lengths(q))[0]
    assert tensions[:, 0] == pytest.approx(OPENSIM[:, columns[0]], abs=1e-9)
    assert ligaments.moments(q)[:, 0] == pytest.approx(OPENSIM[:, columns[1]], abs=1e-9)
    assert ligaments.moments(q[3]) == pytest.approx(OPENSIM[3, columns[1]], abs=1e-9)


def test_derivatives_of_the_block_are_exact_and_it_gives_the_moments_of_the_paths():
    ligaments = ligaments_of(strap(CURVE), strap(CURVE, rest=0.21).replace("strap", "cord"))
    block = LigamentBlock(ligaments.paths.surrogate(samples=200, kept=False), ligaments.straps)
    q = np.array([[-0.3], [0.2], [0.7], [1.3]])  # cord is tight, strap slack or tight, no pose at a point
    for check in (check_partials, check_curvature):
        check(block, lambda function, _: extrapolated(function, 0.01), u={"q": q}, within=1e-7)
    assert block.value({"q": q})[LIGAMENTS] == pytest.approx(ligaments.moments(q), abs=0.05)
    with pytest.raises(MuscleError, match="of other ligaments"):
        LigamentBlock(block.paths.only(("cord", "strap")), ligaments.straps)


def test_joints_bear_the_pull_of_ligaments():
    slack, tight = (dynamics.load_osim(arm(*more), muscles=True) for more in ((), (strap(CURVE),)))
    q, still, load = np.array([[0.4]]), np.zeros((1, 1)), {"fore": np.array([1.0, 0, 0, 0, 5.0, 0])}
    found, without = (
        osim.joint_reactions(q, still, still, np.full((1, 1), 30.0), load)[0, 0] for osim in (tight, slack)
    )
    c, s = np.cos(0.4), np.sin(0.4)
    end = np.array([-0.06 * c + 0.07 * s, -0.06 * s - 0.07 * c, 0.02])
    pull = OPENSIM[3, 1] * (np.array([-0.05, 0.2, 0.0]) - end) / 0.28937054183111255
    assert (without - found)[3:] == pytest.approx(pull, abs=1e-9)
    assert (without - found)[:3] == pytest.approx(np.cross(end, pull), abs=1e-9)


def test_ligaments_that_do_not_pull_are_named_and_others_refused():
    off = "<appliesForce>false</appliesForce>"
    osim = dynamics.load_osim(arm(strap(more=off)), muscles=True)
    assert osim.ligaments is None and osim.left_out["forces (Ligament)"] == ("strap",)
    osim = dynamics.load_osim(arm(strap()))  # as muscles, which are not asked for
    assert osim.ligaments is None and osim.left_out["forces (Ligament)"] == ("strap",)
    assert "forces (Ligament)" not in dynamics.load_osim(arm(strap()), muscles=True).left_out
    with pytest.raises(MuscleError, match="resting_length of ligament 'strap' is 0: give a positive one, m"):
        ligaments_of(strap(rest=0))
    with pytest.raises(MuscleError, match="strength of ligament 'strap' is -1: give a positive one, N"):
        ligaments_of(strap(strength=-1))


@pytest.mark.long
def test_a_ligament_holds_an_arm_that_muscles_drive():
    osim = dynamics.load_osim(arm(strap(CURVE, strength=60)), muscles=True)
    mesh = trajopt.Trajectory.collocation(intervals=4, order=3, duration=0.8)
    problem = muscle_problem(osim, mesh)
    problem.start_at(q=[0.1], v=[0.0])
    problem.end_at(q=[0.5], v=[0.0])
    solution = trajopt.solve(problem, refine=None, starts=1, coarse_to_fine=False)
    assert solution.converged and solution.iterations < 60
    t = np.array([0.8])
    held, driven, reserve = (
        solution.value(term, t)[0]
        for term in (
            trajopt.Quantity("ligament_moment"), trajopt.Quantity("muscle_moment"), trajopt.state("reserve"),
        )
    )  # fmt: skip
    assert osim.ligaments is not None
    assert held == pytest.approx(osim.ligaments.moments(solution.q(t))[0], abs=0.05) and held[0] < -0.5
    assert solution.tau(t)[0] == pytest.approx(driven + reserve + held, abs=1e-5)
