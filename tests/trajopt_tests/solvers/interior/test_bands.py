"""Unknowns in the order of time make the Newton matrix a band, which steps solve as a pivoted matrix is."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import fast_first

from problems import catalogue
from trajopt.solution.answers import program_of
from trajopt.solvers.interior import interior_point
from trajopt.solvers.interior.bands import bands_of
from trajopt.solvers.interior.interior_point import InteriorPoint
from trajopt.solvers.interior.slack_program import SlackProgram
from trajopt.solvers.monitor import Monitor

# Half bandwidth, unknowns of the arrow, rows that stay rows.
SHAPES = {
    "cart_pole": (11, 0, 0),
    "arm_energy_budget": (7, 1, 1),
    "goddard_in_phases": (17, 13, 0),
}
LARGER = {
    "six_axis_arm": (23, 1, 0),
    "motor_arm": (37, 0, 0),
    "five_link_walker": (69, 10, 0),
    "quadruped_trot": (113, 36, 0),
}
#: 5 s each to build: those above stand for them
LARGEST = {"quadruped_jump": (137, 3, 0), "two_arms": (185, 0, 0)}


@fast_first("name, shape", [*SHAPES.items(), *LARGER.items(), *LARGEST.items()], len(SHAPES), len(LARGER))
def test_the_band_of_a_library_program_is_as_wide_as_its_spans_ask(name, shape):
    nlp = program_of(catalogue.build(name, {}))
    layout = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6)).layout
    assert (layout.bands.half, layout.bands.arrow, layout.far.size) == shape


def test_the_band_does_not_widen_with_the_number_of_intervals():
    halves = []
    for intervals in (10, 40):
        nlp = program_of(catalogue.build("six_axis_arm", {"intervals": intervals}))
        layout = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6)).layout
        halves.append(layout.bands.half)
        assert layout.bands.size == pytest.approx(layout.n * (layout.bands.half + 2), rel=0.05)
    assert halves[0] == halves[1]


def chain(spans, rows=(), pairs=()):
    """The order of unknowns with these rows, and with these pairs in the Hessian."""
    entries = [(number, unknown) for number, row in enumerate(rows) for unknown in row]
    row, unknown = np.array(entries, dtype=int).reshape(-1, 2).T
    one, other = np.array(pairs, dtype=int).reshape(-1, 2).T
    return bands_of(np.array(spans, dtype=float), (row, unknown, len(rows)), (one, other))


def test_what_acts_everywhere_or_far_apart_goes_into_the_arrow():
    spans: list[list[float]] = [[k, k] for k in range(9)]
    spans[4] = [0, 8]  # as a mirrored unknown acts at both ends
    spans[6] = [np.nan, np.nan]  # a duration
    bands = chain(spans, rows=[(0, 1), (1, 2), (3, 5), (0, 6), (8, 4)], pairs=[(0, 8), (1, 8), (7, 8)])
    np.testing.assert_array_equal(bands.order[bands.inner :], [4, 6, 8])
    assert bands.half == 1 and not bands.far.any()


def test_a_row_over_far_spans_stays_a_row():
    bands = chain([[k, k] for k in range(9)], rows=[(0, 1), (0, 8), range(9)])
    np.testing.assert_array_equal(bands.far, [False, True, True])
    assert bands.inner == 9 and bands.half == 1


def test_unknowns_that_all_act_everywhere_make_an_arrow_alone():
    bands = chain([[np.nan, np.nan]] * 3, rows=[(0, 1, 2)], pairs=[(0, 2)])
    assert bands.inner == 0 and bands.arrow == 3 and not bands.far.any()


LATE = ("two_link_rr", "cart_pole", "arm_energy_budget", "minimum_fuel")
MORE = ("motor_arm", "four_bar", "gear_ratio")
LARGE = ("six_axis_arm", "five_link_walker", "quadruped_trot")


@fast_first("name", [*LATE, *MORE, *LARGE], len(LATE), len(MORE))
def test_late_steps_are_those_of_a_pivoted_factorization(name, monkeypatch):
    """Stiffness of limits reaches 1e9 there: residuals in unknowns and all multipliers are to rounding."""
    steps = []

    class Kept(interior_point.NewtonStep):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            steps.append(self)

    monkeypatch.setattr(interior_point, "NewtonStep", Kept)
    assert InteriorPoint(tol=1e-8).alone.solve(program_of(catalogue.build(name, {}))).converged
    for step in steps[-3:]:
        system, layout = step.system, step.program.layout
        n, m = layout.n, layout.row_count
        K = np.zeros((n + m, n + m))
        np.add.at(K, (layout.H_rows, layout.H_columns), system.H)
        K[:n, :n] += np.tril(K[:n, :n], -1).T + system.shift * np.eye(n)
        row = n + np.repeat(np.arange(m), np.diff(layout.starts))
        K[row, layout.columns] = K[layout.columns, row] = system.values
        K[n:, n:] -= np.diag(system.flexibility)
        direction, (point, slopes, _) = step.direction(0.0), step.at
        right = np.concatenate([-slopes.g, -point.apart])
        left = right - K @ np.concatenate([direction.dx, direction.y])
        assert np.linalg.norm(left) < 1e-10 * np.linalg.norm(right)
        assert_signs_of_eigenvalues(K, n, m)


def assert_signs_of_eigenvalues(K, n, m):
    """n positive and m negative eigenvalues, of these zeros to rounding where rows follow from others.

    Congruence keeps signs: of the matrix scaled to rows of size 1, whose eigenvalues are found to some
    (n + m) eps. Rows that follow from others are rigid to rounding: five_link_walker has one of 462, an
    active limit beside the same equation, whose eigenvalue is -4e-16 (the next is 3e-4).
    """
    scaled = K.copy()
    for _ in range(5):
        scale = 1.0 / np.sqrt(np.abs(scaled).max(axis=1))
        scaled = scale[:, None] * scaled * scale
    values = np.linalg.eigvalsh(scaled)
    rounding = (n + m) * np.finfo(float).eps * np.abs(values).max()
    zeros = np.count_nonzero(np.abs(values) <= rounding)
    rigid = scaled[n:, :n][-np.diagonal(scaled)[n:] < rounding]
    dependent = len(rigid) - np.linalg.matrix_rank(rigid, tol=1e-8) if len(rigid) else 0
    assert np.count_nonzero(values > rounding) == n and zeros <= dependent
