"""Bounds over time of torques of random robots on random splines, against dense grids and planted peaks."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from random_trees import random_tree
from tiers import fast_first

import trajopt
from dynamics import RigidBodyModel
from trajopt.problem.problem_graph import graph_of
from trajopt.splines.basis import Curve, SplineBasis
from trajopt.taylor_models import suprema
from trajopt.taylor_models.suprema import Supremum, bernstein_form, find_suprema, graph_models, leaf_pieces

DENSE = 20_001


def random_motion(rng, n, degree):
    """A curve of n coordinates with two arcs and knots at random places."""
    bases, points = [], []
    for _ in range(2):
        inner = np.sort(rng.uniform(0.1, 0.9, int(rng.integers(0, 4))))
        basis = SplineBasis.clamped(np.concatenate([[0.0], inner, [1.0]]), degree, np.ones(inner.size, int))
        bases.append(basis)
        points.append(rng.normal(size=(basis.count, n)))
    return Curve(tuple(bases), tuple(points), rng.uniform(0.2, 2.0, 2))


def models_on(problem, curve, first=0.0, last=None):
    """The pieces of a motion, and what evaluates torques on pieces."""
    graph = graph_of(problem, [trajopt.tau])
    used = {name for block in graph.blocks for name in block.inputs} & graph.leaves.keys()
    pieces = leaf_pieces(curve, problem.spline_leaves, {}, used, first, last or curve.duration)
    return pieces, lambda some: graph_models(graph, some)


def torques(problem, curve, t):
    """(K, n) by the compiled inverse dynamics."""
    return problem.dynamics.block(["tau"]).value({"q": curve(t), "v": curve(t, 1), "a": curve(t, 2)})["tau"]


def robot(seed):
    model = random_tree(seed, rotors=seed % 2 == 0, mimic=seed % 5 == 4)
    mode = ("exact", "armature", "none")[seed % 3]
    return RigidBodyModel(model.bodies, model.gravity, model.name, rotors=mode, frames=model.frames)


@fast_first("seed", range(10), 3)
def test_torques_of_random_robots_never_leave_their_models(seed):
    rng = np.random.default_rng(seed)
    model = robot(seed)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(4))
    curve = random_motion(rng, model.n, degree=int(rng.integers(2, 8)))
    pieces, evaluate = models_on(problem, curve)
    parts = 2 ** rng.integers(1, 4, pieces.start.size)
    pieces = pieces.divided(np.arange(pieces.start.size), parts)
    models = evaluate(pieces)["tau"]
    s = np.linspace(-1.0, 1.0, 41)[1:-1]  # at the ends of a piece others have the torque, where it jumps
    times = 0.5 * (pieces.start + pieces.end)[:, None] + 0.5 * (pieces.end - pieces.start)[:, None] * s
    tau = torques(problem, curve, times.ravel()).reshape(*times.shape, model.n)
    for i, of_joint in enumerate(models):
        value = (s[:, None] ** np.arange(len(of_joint.coefficients))) @ of_joint.coefficients
        rounding = 1e-10 * np.abs(tau[..., i]).max()  # of the compiled evaluation
        assert np.all(np.abs(value.T - tau[..., i]) <= of_joint.radius[:, None] + rounding)


@pytest.mark.long
@fast_first("seed", range(6))
def test_suprema_of_torques_are_reached_within_the_sharpness(seed):
    rng = np.random.default_rng(100 + seed)
    model = robot(seed)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(4))
    curve = random_motion(rng, model.n, degree=int(rng.integers(3, 7)))
    first, last = (0.0, curve.duration) if seed % 2 else (0.21 * curve.duration, 0.64 * curve.duration)
    pieces, evaluate = models_on(problem, curve, first=first, last=last)
    knots = curve.knot_times[1:-1]
    t = np.unique(np.concatenate([np.linspace(first, last, DENSE), knots - 1e-12, knots + 1e-12]))
    t = t[(t >= first) & (t <= last)]
    tau = torques(problem, curve, t)
    scale = np.abs(tau).max()
    asked = [Supremum("tau", i, -1.0, 2.0, -np.inf, 1e-8 * scale, np.inf, 0.0) for i in range(model.n)]
    find_suprema(pieces, evaluate, asked)
    for i, supremum in enumerate(asked):
        highest = int(np.argmax(np.maximum(tau[:, i] - 2.0, -1.0 - tau[:, i])))
        near = np.linspace(t[max(highest - 1, 0)], t[min(highest + 1, t.size - 1)], DENSE)
        near = np.append(near, t[highest])
        around = torques(problem, curve, near)[:, i]
        largest = np.maximum(around - 2.0, -1.0 - around).max()
        assert largest - 1e-10 * scale <= supremum.value <= largest + 3e-8 * scale
        assert supremum.reached <= supremum.value


def test_a_spike_between_all_samples_is_found():
    """1e-5 of the motion wide: it is met where the bound is not sharp, and the search ends there."""
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))

    @trajopt.term
    def spike(node):
        return 1.0 / (1.0 + ((node.t - 0.3141592) / 1e-5) ** 2)

    graph = graph_of(problem, [spike])
    curve = random_motion(np.random.default_rng(0), problem.dynamics.n, 4)
    pieces = leaf_pieces(curve, problem.spline_leaves, {}, {"t"}, 0.0, curve.duration)
    asked = Supremum(spike.quantity, 0, -np.inf, 0.5, -0.5, 1e-3, 1e-6, 0.0)
    find_suprema(pieces, lambda some: graph_models(graph, some), [asked])
    assert asked.reached > 1e-6 and np.isnan(asked.value) and abs(asked.time - 0.3141592) < 1e-5


def test_a_bound_that_is_not_found_is_no_bound():
    """A pole inside: its pieces stay infinite, however often they are divided."""
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))

    @trajopt.term
    def pole(node):
        return -1.0 / (node.t - 0.3141592) ** 2

    graph = graph_of(problem, [pole])
    curve = random_motion(np.random.default_rng(0), problem.dynamics.n, 4)
    pieces = leaf_pieces(curve, problem.spline_leaves, {}, {"t"}, 0.0, curve.duration)
    asked = Supremum(pole.quantity, 0, -np.inf, 1.0, -1.5, 1e-3, 1e-6, 0.0)
    find_suprema(pieces, lambda some: graph_models(graph, some), [asked])
    assert not asked.value <= 1e-6


@pytest.mark.long
def test_a_search_takes_no_more_pieces_than_it_may(monkeypatch):
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))
    curve = random_motion(np.random.default_rng(0), problem.dynamics.n, 4)
    pieces, evaluate = models_on(problem, curve)
    monkeypatch.setattr(suprema, "MOST_PIECES", 120)
    counts = []

    def counted(some):
        counts.append(some.start.size)
        return evaluate(some)

    asked = Supremum("tau", 0, -1.0, 1.0, -np.inf, 1e-12, np.inf, 0.0)
    find_suprema(pieces, counted, [asked])
    assert sum(counts) <= 120 and len(counts) > 1
    largest = np.abs(torques(problem, curve, np.linspace(0.0, curve.duration, DENSE))[:, 0]).max()
    assert asked.value >= largest - 1.0  # a bound all the same, if not a sharp one


def test_an_interval_without_length_has_no_bound():
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))
    curve = random_motion(np.random.default_rng(0), problem.dynamics.n, 4)
    pieces, evaluate = models_on(problem, curve, first=0.1, last=0.1)
    asked = Supremum("tau", 0, -1.0, 1.0, -np.inf, 1e-6, 1e-6, 0.0)
    find_suprema(pieces, evaluate, [asked])
    assert np.isnan(asked.value)


def test_leaves_without_pieces_are_refused():
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))
    curve = random_motion(np.random.default_rng(0), problem.dynamics.n, 4)
    with pytest.raises(NotImplementedError, match="unheard of"):
        leaf_pieces(curve, problem.spline_leaves, {}, {"q", "unheard of"}, 0.0, curve.duration)


def test_bernstein_coefficients_enclose_and_meet_the_ends():
    problem = trajopt.Problem(robot(1), trajopt.Trajectory.uniform(4))
    curve = random_motion(np.random.default_rng(1), problem.dynamics.n, 5)
    pieces, evaluate = models_on(problem, curve)
    pieces = pieces.divided(np.arange(pieces.start.size), np.full(pieces.start.size, 8))
    coefficients, radius = bernstein_form(evaluate(pieces)["tau"][0], pieces.start.size)
    ends = torques(problem, curve, pieces.start + 1e-12)[:, 0]
    assert np.all(np.abs(coefficients[:, 0] - ends) <= radius + 1e-9 * np.abs(ends).max())


def test_curves_and_their_derivatives_are_enclosed_after_many_cuts():
    """Against exact fractions: de Boor's recursion on the control points as they are."""
    curve = random_motion(np.random.default_rng(3), 1, 6)
    problem = trajopt.Problem(robot(0), trajopt.Trajectory.uniform(4))
    leaves = {name: problem.spline_leaves[name] for name in ("q", "v", "a", "jerk")}
    leaves = {name: type(leaf)(leaf.order, slice(0, 1)) for name, leaf in leaves.items()}
    pieces = leaf_pieces(curve, leaves, {}, {*leaves, "t"}, 0.0, curve.duration)
    for _ in range(3):
        pieces = pieces.divided(np.arange(pieces.start.size)[::3], np.full(len(pieces.start[::3]), 8))
    models = pieces.models()
    for piece in range(0, pieces.start.size, 7):
        (time,) = models["t"]
        t = Fraction(float(time.coefficients[0, piece]))
        arc = int(t > Fraction(float(curve.starts[1])))
        for name, leaf in leaves.items():
            (model,) = models[name]
            exact = derivative(curve, arc, t, leaf.order)
            slope = abs(derivative(curve, arc, t, leaf.order + 1)) * Fraction(float(time.radius[piece]))
            miss = abs(exact - Fraction(float(model.coefficients[0, piece])))
            assert miss <= 2 * slope + Fraction(float(model.radius[piece]))


def derivative(curve, arc, t, order):
    """An exact derivative of the curve's only coordinate."""
    basis, duration = curve.bases[arc], Fraction(float(curve.durations[arc]))
    knots = [Fraction(float(knot)) for knot in basis.knots]
    points = [Fraction(float(point)) for point in curve.control_points[arc][:, 0]]
    degree = basis.degree
    for _ in range(order):
        points = [
            degree * (right - left) / (knots[i + degree + 1] - knots[i + 1]) / duration
            for i, (left, right) in enumerate(pairwise(points))
        ]
        knots, degree = knots[1:-1], degree - 1
    s = (t - Fraction(float(curve.starts[arc]))) / duration
    last = max(k for k in range(degree, len(points)) if knots[k] <= s)
    row = points[last - degree : last + 1]
    for level in range(1, degree + 1):
        for j in range(degree, level - 1, -1):
            i = last - degree + j
            w = (s - knots[i]) / (knots[i + degree - level + 1] - knots[i])
            row[j] = (1 - w) * row[j - 1] + w * row[j]
    return row[degree]
