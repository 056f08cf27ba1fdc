"""Human walking in three dimensions, predicted from effort alone: Barman's thesis, chapter V.

    minimize integral_0^T sum_i (muscle torque_i / largest torque_i)^2 dt

over one step of length L in T = L / speed, after which left and right have changed places, mirrored. 38 of
the skeleton's 55 degrees of freedom move (neck, clavicles, wrists and half of the upper spine are held
rigidly). The ground's reaction follows from the motion, is shared by the feet in double support and returns
to them as loads. Six control points each, as in the thesis: 228 unknowns of which symmetry leaves 152.
"""

from __future__ import annotations

import trajopt
from problems.human.effort import effort
from problems.human.model import ACTIVE, skeleton
from problems.human.outputs import draw as draw
from problems.human.starts import guess
from problems.human.step import Step
from problems.human.walking import DEMANDS, Demands, demand, walk
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 3,
    nodes_per_span: int = 7,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float = 1.75,
    mass: float = 75.0,
    foot_flat: float = 0.2,
    toe_off: float = 0.24,
    heel_off: float = 0.7,
    foot_line: float = 0.05,
    contact_samples: int = 4,
    split: str = "time",
    knee_peak: float = 0.42,
    swing_knee: tuple[float, float] = (55.0, 65.0),
    contact_tolerance: float = 0.0,
    contact_drift: float = 5e-3,
    penetration: float = 5e-3,
    friction: float = 0.7,
    springs: bool = True,
    without: str = "",
    start: str = "measured",
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, angles in degrees.

    intervals : of the spline, three more control points
    foot_flat, toe_off, heel_off, knee_peak : events in parts of the step
    foot_line : distance of each foot from the plane of symmetry
    contact_samples : times at which each standing point of the leading foot is held
    split : how the feet share the reaction, by "time", by the "ratio" of distances, or at "one place"
    swing_knee : bend of the swinging knee at its peak, Barman's thesis (5.9)
    contact_tolerance : m, how closely standing foot points are at their places when they are held
    contact_drift : m, how far from their places they may be in between
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground
    springs : whether passive stiffness takes its part of each torque
    without : demands on the step to leave out, names of problems.human.walking with commas between
    start : where the search starts, "standing" upright or a "measured" walk
    """
    model = skeleton(height, mass, ACTIVE)
    step = Step(
        step_length, speed, height, mass, foot_flat, toe_off, heel_off, foot_line, contact_samples,
        knee_peak=knee_peak, split=split,
    )  # fmt: skip
    demands = Demands(contact_tolerance, contact_drift, penetration, friction, knee=swing_knee)
    trajectory = step.trajectory(intervals, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="gait")
    walk(problem, step)
    problem.minimize(effort(model, springs))
    demand(problem, step, demands, DEMANDS, without)
    guess(problem, step, start)
    # Few of the rows are active; the regularisation of indefinite Hessians decays faster than IPOPT's habit.
    problem.recommend(trajopt.RowsInRounds(trajopt.Ipopt(tol=1e-6, options={"perturb_dec_fact": 0.1})))
    return problem
