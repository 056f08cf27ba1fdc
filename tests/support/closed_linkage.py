"""The four-bar linkage closed in a problem, and a spatial chain with random axes."""

import numpy as np

import dynamics
import trajopt
from tests.support import four_bar

ROBOT = four_bar.robot()
START = 0.5  # rad, of the crank
NEAR = [START, 0.5, 1.5]
SPEED = np.pi  # rad/s


def linkage(intervals=8, order=4, duration=2.0, points="radau", **options):
    problem = trajopt.Problem(
        ROBOT, trajopt.Trajectory.collocation(intervals, order, points, duration=duration), name="four_bar"
    )
    closure = problem.close_loop("coupler_end", "rocker_end", **{"near": NEAR, **options})
    problem.passive("coupler_joint", "rocker_joint")
    return problem, closure


def turning(intervals, order, points="radau"):
    """A whole turn of the crank at constant speed, in which nothing is left to choose."""
    problem, closure = linkage(intervals, order, 2.0 * np.pi / SPEED, points)
    problem.start_at(q=[START, None, None], v=[SPEED, None, None])
    problem.subject_to(trajopt.v[0], equals=SPEED, name="speed")
    problem.minimize(trajopt.tau**2)
    problem.guess(lambda s: np.stack([START + 2.0 * np.pi * s, 0.5 + 0.0 * s, 1.5 + 0.0 * s], axis=-1))
    return trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1), closure


def times_of(solution, count=601):
    return np.linspace(0.0, solution.duration, count)


def collocation_times(solution):
    """Collocation times inside intervals: at their ends accelerations and forces may jump."""
    nodes = solution.problem.trajectory.nodes
    inside = ~np.isclose(nodes.s[:, None], nodes.s[nodes.weight == 0.0]).any(axis=1)
    return nodes.s[inside] * solution.duration


def absolute(values):
    """Angles, or their rates, of the links from those of the joints."""
    return np.stack([values[:, 0], values[:, 0] + values[:, 1], values[:, 2]], axis=-1)


def chain(rng, bodies=7):
    """A spatial chain of revolute joints with random axes, with a frame turned against its last link."""
    made, parent = [], None
    for number in range(bodies):
        axis, place = rng.normal(size=3), rng.uniform(-0.4, 0.4, 3)
        joint = dynamics.Joint(f"joint {number}", axis=axis, position=place)
        made.append(dynamics.Body(f"link {number}", joint, parent, 1.0, (0.1, 0.0, 0.0), 0.02 * np.eye(3)))
        parent = made[-1].name
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned *= np.linalg.det(turned)
    frames = [
        dynamics.Frame("base", None, turned.T, np.array([0.1, 0.2, 0.3])),
        dynamics.Frame("first", "link 0", turned, np.array([0.3, 0.1, 0.0])),
        dynamics.Frame("tip", parent, turned, np.array([0.2, 0.0, 0.1])),
    ]
    return dynamics.RigidBodyModel(made, name="chain", frames=frames)
