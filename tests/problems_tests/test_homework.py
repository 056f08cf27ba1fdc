"""The checks of the homework pass its solutions, and catch planted wrong answers."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dynamics
import trajopt
from problems import homework

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Motion:
    """A motion from one pose to another by a polynomial that is at rest at both ends."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float
    failure: str = ""

    def q(self, t):
        s = np.asarray(t)[:, None] / self.duration
        return np.array(self.start) + (3 * s**2 - 2 * s**3) * np.subtract(self.end, self.start)

    def v(self, t):
        s = np.asarray(t)[:, None] / self.duration
        return (6 * s - 6 * s**2) * np.subtract(self.end, self.start) / self.duration

    def a(self, t):
        s = np.asarray(t)[:, None] / self.duration
        return (6 - 12 * s) * np.subtract(self.end, self.start) / self.duration**2

    def tau(self, t):
        return np.zeros((len(t), len(self.start)))

    def verify(self):
        return SimpleNamespace(holds=not self.failure, reason=self.failure)


def two_links(gravity=-9.81, centre=-0.25, torque=8.0, inertia=0.02):
    limits = dynamics.JointLimits.symmetric(torque=torque)
    link = {
        "a": 0.5,
        "mass": 1.0,
        "centre_of_mass": (centre, 0, 0),
        "inertia": np.diag([0, inertia, inertia]),
        "limits": limits,
    }
    return dynamics.from_dh([link, link], gravity=(0, gravity, 0))


STEP = 0.7 / 1.3
SWITCHES = (0.0457093, 0.1959273, 0.2353004)
WRONG = [
    (1, {"control": lambda t: 4 - 6 * t, "cost": 4.0}, "the speed at the end"),  # does not stop
    (1, {"control": lambda t: 6 - 12 * t, "cost": 6.0}, "without a factor 1/2"),
    (1, {"control": lambda t: 12 * t - 6, "cost": 12.0}, "the control has the wrong sign"),
    (1, {"control": lambda t: np.where(t < 0.5, 4.0, -4.0), "cost": 16.0}, "integral of your u"),
    (2, {"solution": Motion((0, 0), (1, np.pi), 2.0)}, "use problem.passive"),
    (2, {"solution": Motion((0, 0), (1, -np.pi), 2.5)}, "the duration"),
    (3, {"duration": 2.0, "switch": 1.0}, "it can push with 2 N"),
    (3, {"duration": 1.7326, "switch": 0.5776}, "compute it by hand"),  # a mesh's answer
    (3, {"duration": np.sqrt(3), "switch": np.sqrt(3) / 2}, "does not switch at half time"),
    (3, {"duration": np.sqrt(3), "switch": 2 / np.sqrt(3)}, "not the reverse"),
    (4, {"position": lambda t: 24.0, "speed": lambda t: 12 - 24 * t, "price": 24.0}, "sign is reversed"),
    (
        4,
        {"position": lambda t: -12.0, "speed": lambda t: 12 * t - 6, "price": 12.0},
        "as with a cost of u^2 / 2",
    ),
    (5, {"robot": two_links(centre=0.25)}, "from_dh places a link's frame at its far end"),
    (5, {"robot": two_links(gravity=9.81)}, "gravity acts along +y"),
    (5, {"robot": two_links(gravity=0.0)}, "acts along z or is missing"),
    (5, {"robot": two_links(inertia=0.02 + 0.25**2)}, "not about the joint"),
    (5, {"robot": two_links(inertia=0.0)}, "inertia about z is missing"),
    (5, {"robot": two_links(torque=10.0)}, "limits"),
    (6, {"solution": Motion((0.0, 0.4), (2.0, 0.4), 1.2)}, "of the ball"),  # straight through it
    (6, {"solution": Motion((0.0, 0.4), (2.0, 0.4), 0.6)}, "rad/s"),
    (7, {"solution": Motion((0, 0), (1, 1), STEP), "mean_force": 75.0}, "not in kg"),
    (7, {"solution": Motion((0, 0), (1, 1), STEP), "mean_force": 1.0}, "not in body weights"),
    (7, {"solution": Motion((0, 0), (1, 1), STEP), "mean_force": 735.75 * STEP}, "divide the integral"),
    (
        7,
        {"solution": Motion((0, 0), (1, 1), STEP, "not met"), "mean_force": 735.75},
        "verification",
    ),
    (8, {"duration": 0.3916, "switches": SWITCHES}, "no motion takes"),  # limits at nodes alone
    (8, {"duration": 0.39314395, "switches": SWITCHES}, "refine=trajopt.Certified"),  # a plain solve
    (8, {"duration": 0.39185454, "switches": (0.0, *SWITCHES)}, "without start and end"),
]


@pytest.mark.parametrize(("exercise", "answer", "remark"), WRONG)
def test_wrong_answers_are_caught(exercise, answer, remark):
    marked = homework.check(exercise, **answer)
    assert not marked.right
    assert remark in str(marked)


def test_right_answers_by_hand_pass():
    assert homework.check(1, control=lambda t: 6 - 12 * t, cost=12).right
    assert homework.check(3, duration=1.73205, switch=0.57735).right
    assert homework.check(5, robot=two_links()).right
    assert str(homework.check(8, duration=0.39185454, switches=SWITCHES)) == "exercise 8: right"


def test_a_pole_may_swing_up_to_either_side():
    for side in (1, -1, 3):
        marked = homework.check(2, solution=Motion((0, 0), (1, side * np.pi), 2.0))
        assert "cart and pole at the end" not in str(marked)
    assert "cart and pole at the end" in str(homework.check(2, solution=Motion((0, 0), (1, 3.0), 2.0)))


def test_motions_of_other_mechanisms_get_a_remark():
    one = Motion((0.0,), (1.0,), 2.0)
    for exercise in (2, 6):
        assert "has 1 coordinates" in str(homework.check(exercise, solution=one))


def test_answers_with_other_parts_are_named():
    with pytest.raises(trajopt.TrajoptError, match="exercise 1 takes control, cost, but was given u"):
        homework.check(1, u=3.0)
    with pytest.raises(trajopt.TrajoptError, match="no exercise 9: there are 1 to 8"):
        homework.check(9)


@pytest.mark.parametrize(
    ("exercise", "answer", "message"),
    [
        (1, {"control": 6.0, "cost": 12.0}, "control is 6.0: give a function of t"),
        (1, {"control": lambda t: 6 - 12 * t, "cost": "12"}, "cost is '12'.*it holds text"),
        (1, {"control": lambda t: "x", "cost": 12.0}, "what the function of t returns"),
        (
            1,
            {"control": lambda t: [6.0, -6.0], "cost": 12.0},
            r"shape \(2,\) for 2001 times: one number for each",
        ),
        (2, {"solution": 58.8}, "solution is 58.8: give what trajopt.solve returned"),
        (5, {"robot": "arm.urdf"}, "robot is 'arm.urdf': give a robot, made by dynamics.from_dh"),
    ],
)
def test_parts_of_another_kind_are_named(exercise, answer, message):
    with pytest.raises(trajopt.TrajoptError, match=message):
        homework.check(exercise, **answer)


def test_functions_of_one_number_are_taken():
    marked = homework.check(1, control=lambda t: 4.0 if t < 0.5 else -4.0, cost=12.0)
    assert "the integral of your u^2: off by 4" in str(marked)


@pytest.mark.long
@pytest.mark.parametrize("masses", [(1.0, 0.33), (1.1, 0.3)])
def test_the_best_motion_of_another_cart_and_pole_is_caught(masses):
    slide = dynamics.Joint("cart", "prismatic", axis=(1.0, 0.0, 0.0))
    pivot = dynamics.Joint("pole", axis=(0.0, -1.0, 0.0))
    cart = dynamics.Body("cart", slide, mass=masses[0])
    pole = dynamics.Body("pole", pivot, "cart", mass=masses[1], centre_of_mass=(0.0, 0.0, -0.5))
    mesh = trajopt.Trajectory.collocation(intervals=20, order=4, duration=2.0)
    problem = trajopt.Problem(dynamics.RigidBodyModel([cart, pole]), mesh)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, np.pi], v=0.0)
    problem.passive("pole")
    problem.minimize(trajopt.tau[0] ** 2)
    marked = homework.check(2, solution=trajopt.solve(problem, starts=1))
    assert "look at masses" in str(marked)


@pytest.mark.long
def test_solutions_of_the_page_are_right():
    page, names = (DOCS / "homework_solutions.md").read_text(encoding="utf-8"), {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(code, "homework_solutions.md", "exec"), names)
    assert sorted(names["marked"]) == sorted(homework.CHECKS)
    assert all(marked.right for marked in names["marked"].values())
