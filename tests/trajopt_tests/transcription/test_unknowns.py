"""A motion becomes the unknowns of a program, and the unknowns that motion again."""

import numpy as np
from hand_written import PointMasses

import trajopt


def three_arcs():
    """Two masses, an additional curve and a parameter on three arcs of different degree and free duration."""
    arcs = tuple(trajopt.Arc(trajopt.SplineBasis.uniform(2, degree), (0.3, 2.0)) for degree in (3, 5, 4))
    problem = trajopt.Problem(PointMasses(2, 2.0), trajopt.Trajectory(arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0)
    force = problem.extra("force", 1, lower=-3.0, upper=3.0, guess=1.0)
    gain = problem.parameter("gain", lower=-2.0, upper=2.0, guess=-1.0)
    for term in (force, gain, trajopt.tau):
        problem.minimize(term**2)
    problem.minimize(trajopt.duration)
    return problem


def test_unknowns_and_their_motion_are_inverse_to_each_other():
    problem = three_arcs()
    nlp = trajopt.transcribe(problem)
    moved = nlp.start + 0.1 * np.random.default_rng(3).standard_normal(nlp.variable_count)
    y = np.clip(moved, nlp.lower, nlp.upper)
    curve, parameters = nlp.unknowns.curve(y), nlp.unknowns.parameters(y)
    assert np.array_equal(nlp.unknowns.of(curve, parameters), y)
    assert [points.shape for points in curve.control_points] == [(5, 3), (7, 3), (6, 3)]
    assert np.array_equal(curve.durations, y[nlp.unknowns.durations]) and parameters["gain"].shape == (1,)
    assert np.allclose(curve(0.0)[:2], 0.0) and np.allclose(curve(curve.duration)[:2], 1.0)
    values = nlp.spline_map.leaf_values(nlp.unknowns.elimination.expand(y), {"t", "q"})
    assert np.allclose(nlp.unknowns.node_times(y), values["t"][:, 0])
    inside = problem.trajectory.nodes.s < 1.0
    assert np.allclose(curve(nlp.unknowns.node_times(y)[inside])[:, :2], values["q"][inside])


def test_a_motion_on_other_knots_or_with_other_parameters_does_not_fit():
    unknowns = trajopt.transcribe(three_arcs()).unknowns
    other = three_arcs()
    arcs = tuple(trajopt.Arc(trajopt.SplineBasis.uniform(3, 3), (0.3, 2.0)) for _ in range(3))
    other.trajectory = trajopt.Trajectory(arcs)
    elsewhere = trajopt.transcribe(other)
    curve, parameters = (
        elsewhere.unknowns.curve(elsewhere.start),
        elsewhere.unknowns.parameters(elsewhere.start),
    )
    assert elsewhere.unknowns.fits(curve, parameters) and not unknowns.fits(curve, parameters)
    assert not elsewhere.unknowns.fits(curve, {})
