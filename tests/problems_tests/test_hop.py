"""The hop: what a body that the ground alone carries owes to physics, whatever is optimal."""

import numpy as np
import pytest
from library_solutions import solved_at_defaults, verified_at_defaults

import dynamics
import trajopt
from problems import hop
from trajopt.base import errors
from trajopt.splines.node_sets import Neighbours

G = hop.GRAVITY
MASS = hop.WEIGHT / G


@pytest.fixture(scope="module")
def motion():
    solution = solved_at_defaults("hop")
    assert solution.kkt.error < 1e-6
    return solution


def within(motion, arc, count=41):
    """Times inside an arc, its borders left out."""
    start, end = motion.curve.starts[arc : arc + 2]
    return np.linspace(start, end, count + 2)[1:-1]


def gauss(motion, arc, count=30):
    """Times and weights that integrate a polynomial of high degree over an arc."""
    start, end = motion.curve.starts[arc : arc + 2]
    points, weights = np.polynomial.legendre.leggauss(count)
    return start + 0.5 * (end - start) * (points + 1.0), 0.5 * (end - start) * weights


def force(motion, t):
    """(along, up) in newton."""
    along, heel, toe = (
        motion.value(trajopt.Quantity(f"extra:{n}"), t)[:, 0] for n in ("along", "heel", "toe")
    )
    return hop.WEIGHT * np.stack([along, heel + toe], axis=1)


def centre(motion, t):
    return dynamics.centre_of_mass(motion.problem.dynamics, motion.q(t))[:, :2]


def momentum(motion, t):
    return motion.value(trajopt.Quantity("momentum"), t)


@pytest.mark.long
def test_in_flight_the_centre_of_mass_follows_the_ballistic_parabola(motion):
    t = within(motion, hop.FLIGHT)
    path = centre(motion, t)
    rest = path[:, 1] + 0.5 * G * (t - t[0]) ** 2
    for coordinate in (path[:, 0], rest):
        line = np.polynomial.Polynomial.fit(t, coordinate, 1)
        assert np.abs(coordinate - line(t)).max() < 2e-4  # metres, of a path of 0.16 m


@pytest.mark.long
def test_in_flight_the_angular_momentum_about_the_centre_of_mass_is_constant(motion):
    t = within(motion, hop.FLIGHT)
    p = momentum(motion, t)
    c = centre(motion, t)
    own = p[:, 2] - (c[:, 0] * p[:, 4] - c[:, 1] * p[:, 3])
    assert np.ptp(own) < 0.02 * np.abs(momentum(motion, within(motion, hop.LANDING))[:, 2]).max()


@pytest.mark.long
def test_the_apex_is_that_of_the_velocity_at_take_off(motion):
    t = np.linspace(*motion.curve.starts[hop.FLIGHT : hop.FLIGHT + 2], 2001)[:-1]
    path, rise = centre(motion, t), momentum(motion, t[:1])[0, 4] / MASS
    standing = centre(motion, np.zeros(1))[0, 1]
    assert path[:, 1].max() - standing == pytest.approx(0.15, abs=2e-4)
    assert path[:, 1].max() - path[0, 1] == pytest.approx(rise**2 / (2.0 * G), abs=2e-4)
    assert t[path[:, 1].argmax()] - t[0] == pytest.approx(rise / G, abs=1e-3)


@pytest.mark.long
def test_the_impulse_of_the_ground_and_of_gravity_is_the_change_of_momentum(motion):
    change = np.zeros(2)
    for arc in (hop.FLAT, hop.TIPTOE):
        t, weights = gauss(motion, arc)
        change += weights @ (force(motion, t) - [0.0, hop.WEIGHT])
        reached = momentum(motion, motion.curve.starts[arc + 1 : arc + 2])[0, 3:5]
        assert np.allclose(change, reached, atol=2e-3 * hop.WEIGHT * 0.6)
    t, weights = gauss(motion, hop.LANDING)
    landing = momentum(motion, motion.curve.starts[hop.LANDING : hop.LANDING + 1])[0, 3:5]
    assert np.allclose(
        weights @ (force(motion, t) - [0.0, hop.WEIGHT]), -landing, atol=2e-3 * hop.WEIGHT * 0.4
    )


@pytest.mark.long
def test_the_mean_force_over_the_whole_hop_is_the_weight(motion):
    impulse = sum(weights @ force(motion, t) for t, weights in (gauss(motion, arc) for arc in range(4)))
    assert impulse[1] == pytest.approx(hop.WEIGHT * motion.duration, rel=1e-3)
    assert impulse[0] == pytest.approx(0.0, abs=1e-3 * hop.WEIGHT * motion.duration)


@pytest.mark.long
def test_joints_alone_change_the_energy_because_the_ground_does_no_work(motion):
    energy = trajopt.library.energy
    for arc in (hop.FLAT, hop.TIPTOE, hop.LANDING):
        t, weights = gauss(motion, arc)
        power = (motion.tau(t) * motion.v(t))[:, 3:].sum(axis=1)
        start, end = motion.curve.starts[arc : arc + 2]
        gained = motion.value(energy, end - 1e-12)[0] - motion.value(energy, start)[0]
        assert weights @ power == pytest.approx(gained, abs=1.0)  # joule, of some hundred


@pytest.mark.long
def test_the_ground_pushes_within_the_friction_cone_and_not_at_all_in_flight(motion):
    for arc in range(4):
        along, up = force(motion, within(motion, arc)).T
        if arc == hop.FLIGHT:
            assert not along.any() and not up.any()
        assert np.all(up >= 0.0) and np.all(np.abs(along) <= 0.7 * up + 1e-3 * hop.WEIGHT)
    heel = motion.value(trajopt.Quantity("extra:heel"), within(motion, hop.TIPTOE))
    assert not heel.any()


@pytest.mark.long
def test_standing_points_do_not_move_and_none_is_below_the_ground(motion):
    for arc, x in ((hop.FLAT, 0.0), (hop.LANDING, 0.3)):
        assert np.allclose(motion.q(within(motion, arc))[:, :3], [x, 0.0, 0.0], atol=1e-12)
    assert np.allclose(motion.q(within(motion, hop.TIPTOE))[:, :2], 0.0, atol=1e-12)
    t = np.linspace(0.0, motion.duration, 401)
    assert motion.value(hop.heel_height, t).min() > -1e-4 and motion.q(t)[:, 1].min() > -1e-4


@pytest.mark.long
def test_the_report_finds_all_constraints_met_on_both_sides_of_every_border(motion):
    report = verified_at_defaults("hop")
    assert report.holds and max(v.node_relative for v in report.violations) < 1e-7
    assert "no toe force, flight" in report.table and "toe stands, hip" not in report.table
    assert max(len(line) for line in report.table.splitlines()) < 110


@pytest.mark.long
def test_a_higher_hop_costs_more_and_takes_longer_flight():
    low, high = (trajopt.solve(hop.build(height=height)) for height in (0.12, 0.2))
    assert low.converged and high.converged
    assert high.cost_terms["effort"] > low.cost_terms["effort"]
    assert high.curve.durations[hop.FLIGHT] > low.curve.durations[hop.FLIGHT]


def test_parts_and_arcs_that_do_not_exist_are_refused():
    for over in (trajopt.ArcNodes(4), trajopt.ArcNodes(0, "middle")):
        problem = hop.build()
        problem.subject_to(hop.apex, lower=0.0, over=over)
        with pytest.raises(
            errors.OptionError, match="the 4 arcs count from 0, and their parts are whole, start"
        ):
            trajopt.transcribe(problem)


def test_parts_of_an_arc_and_the_two_sides_of_a_border_can_be_constrained():
    """A window counts in the arc's own time; the border's two nodes are one row of differences."""
    problem = hop.build()
    trajectory, nodes = problem.trajectory, problem.trajectory.nodes
    chosen = trajopt.ArcNodes(2, (0.0, 0.5)).nodes(trajectory)
    assert set(nodes.arc[chosen]) == {2} and nodes.s[chosen].max() <= 0.5 < nodes.s[chosen[-1] + 1]
    row = Neighbours(1).selection(trajectory).toarray()
    last = int(np.flatnonzero(nodes.arc == 1)[-1])
    assert row.shape == (1, nodes.count) and row[0, last] == -1.0 and row[0, last + 1] == 1.0
    with pytest.raises(errors.OptionError, match="no arc follows arc 3: the 4 arcs count from 0"):
        Neighbours(3).selection(trajectory)
    with pytest.raises(errors.OptionError, match=r"no node lies in the window ArcNodes\(arc=0"):
        trajopt.ArcNodes(0, (0.501, 0.502)).selection(trajectory)
