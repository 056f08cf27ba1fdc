"""The ground under a walk: forces of each leg, their rate, friction cones."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from tiers import long_first

import trajopt
from problems import gait, gait_stride
from problems.human.body.model import GRAVITY
from problems.human.gait.force_rate import force_rate, spline_times
from problems.human.gait.ground_reaction import friction_margin, time_weight
from problems.human.gait.step import Step

# Some are of imposed contact with the cost with sources, which warns.
pytestmark = pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")


@pytest.mark.parametrize("split", ["time", "opposing"])
@pytest.mark.parametrize("second", [False, True])
def test_the_rate_of_leg_forces_is_that_of_what_each_leg_carries(second, split):
    """Against differences of w r - f e and (1 - w) r + f e in double and in single support."""
    step = Step(0.6, 1.2, 1.75, 75.0, split=split).steps(2)[second]
    share = time_weight(step.toe_off * step.duration, step.begins)
    names = step.reaction_split.opposing.parameters if split == "opposing" else ()
    constants = dict(zip(names, ([0.5], [-0.2], [0.3]), strict=False))
    term = force_rate(step).function

    def reaction(t):
        return np.array([0.2 * np.sin(9.0 * t), 1.0 + 0.3 * np.cos(12.0 * t), 0.05 * t])

    def at_time(t):
        slope = (reaction(t + 1e-6) - reaction(t - 1e-6)) / 2e-6
        return SimpleNamespace(
            t=[t], extra=lambda _: reaction(t), rate=lambda _: slope, parameter=constants.__getitem__
        )

    def legs(t):
        w = share(SimpleNamespace(t=[t]))
        apart = np.zeros(3)
        if names:
            r = 2.0 * (t - step.begins) / (step.toe_off * step.duration) - 1.0
            between = step.reaction_split.between
            apart = w * (1.0 - w) * (0.5 - 0.2 * r + 0.3 * r**2) * between / np.linalg.norm(between)
        return np.concatenate([w * reaction(t) - apart, (1.0 - w) * reaction(t) + apart])

    for part in (0.05, 0.2, 0.5, 0.95):
        t = step.begins + part * step.duration
        slopes_of_legs = (legs(t + 1e-6) - legs(t - 1e-6)) / 2e-6
        assert float(term(at_time(t))) == pytest.approx(float(slopes_of_legs @ slopes_of_legs), rel=1e-6)


@long_first("build", [gait.build, gait_stride.build])
def test_legs_that_push_against_each_other_leave_reaction_and_pressure_as_they_were(build):
    """With 0.4 body weights: the same sum and centres of pressure, and other forces along the step."""
    problem, values = build(contact="imposed"), []
    for size in (0.0, 0.4):
        for name, parameter in problem.parameters.items():
            guess = np.array([size * name.startswith("opposing force 0")])
            problem.parameters[name] = dataclasses.replace(parameter, guess=guess)
        nlp = trajopt.transcribe(problem)
        values.append(nlp.at(nlp.start).values)
    plain, pushed = values
    loads = ["load:hindfoot_r", "load:hindfoot_l"]
    assert np.allclose(sum(pushed[load] for load in loads), plain["base_wrench"], atol=1e-9)
    double = np.abs(pushed[loads[0]] - plain[loads[0]])[:, 3] > 1.0
    assert double.sum() > 5
    for load in loads:
        change = pushed[load] - plain[load]
        assert np.allclose(change[:, [0, 2, 4]], 0.0, atol=1e-9)
        # The largest is w_A w_B 0.4 W, and the line between both feet runs nearly along the step.
        along, across = np.abs(change[:, [3, 5]]).max(axis=0)
        assert np.hypot(along, across) == pytest.approx(0.25 * 0.4 * 75.0 * GRAVITY, rel=0.02)
        assert along > 2.0 * across


@pytest.mark.parametrize("leading", [True, False])
def test_the_cone_of_either_foot_is_that_of_its_own_force(leading):
    """Its margin times the squared share is mu^2 F_y^2 - F_x^2 - F_z^2 of the wrench on the foot."""
    step = Step(0.6, 1.2, 1.75, 75.0, split="opposing")
    split = step.reaction_split
    constants = dict(zip(split.opposing.parameters, ([0.6], [0.1], [-0.3]), strict=True))
    here = SimpleNamespace(
        t=[0.05], base_wrench=[30.0, -5.0, 80.0, 50.0, 700.0, -20.0], parameter=constants.__getitem__
    )
    x, y, z = (each / step.weight for each in split.share(here, leading)[3:])
    share = split.weight(here) if leading else 1.0 - split.weight(here)
    margin = friction_margin(0.7, step.weight, "cone", split.push(leading)).function(here)
    assert share**2 * margin == pytest.approx(0.49 * y**2 - x**2 - z**2, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("build", "intervals"), [(gait.build, 3), (gait.build, 9), (gait_stride.build, 5)])
def test_the_times_of_the_reaction_determine_its_spline(build, intervals):
    trajectory = build(contact="imposed", intervals=intervals).trajectory
    for arc in range(len(trajectory.arcs)):
        basis, parts = trajectory.arcs[arc].basis, spline_times(trajectory, arc)
        assert len(parts) == len(set(parts)) == basis.greville.size
        values = np.array([basis.evaluate(np.eye(len(parts)), np.array([part]))[0] for part in parts])
        assert np.linalg.cond(values) < 100.0
