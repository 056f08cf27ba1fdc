"""Certified optima of the library's problems, beside closed forms and shooting on switch times."""

import math

import numpy as np
import pytest
from tiers import fast_first, long_first

import problems
import trajopt
from benchmarks.certified.cases import arm_under_gravity, drawn_arm
from benchmarks.shared.page_rows import with_row, with_section
from trajopt.base.errors import OptionError


def certified(problem):
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert solution.certificate is not None and solution.certificate.holds
    assert solution.certificate.method == "switching arcs", solution.certificate.reason
    return solution


def test_the_sliding_mass_takes_four_tenths_of_a_second():
    solution = certified(problems.sliding_mass.build())
    assert np.isclose(solution.duration, problems.sliding_mass.EXACT_DURATION, rtol=1e-10)


@pytest.mark.long
def test_the_extending_arm_beats_its_published_time_by_three_parts_in_a_million():
    """Shooting on switch times agrees with ours to ten digits: the published one stops short."""
    solution = certified(problems.betts_robot_arm.build())
    published = problems.betts_robot_arm.PUBLISHED_DURATION
    assert 0.0 < published - solution.duration < 3e-6 * published
    check = trajopt.switching_times(solution)
    assert check.converged and check.difference < 1e-10
    assert solution.certificate.structure.arc_count == 6


@long_first("seed", [0, 3, 1, 8], 2)
def test_arms_with_other_masses_and_limits_reach_the_optimum_that_shooting_finds(seed):
    """Shooting starts 2 % away from the certified switch times and integrates with SciPy."""
    solution = certified(drawn_arm(seed))
    check = trajopt.switching_times(solution)
    assert check.converged and check.difference < 1e-9
    assert solution.certificate.gain.of_oversteps < 1e-9 and solution.certificate.gain.of_margins == 0.0
    assert solution.certificate.signs.wrong == 0.0


@pytest.mark.long
def test_three_links_have_six_switches():
    solution = certified(problems.three_link_arm.build())
    assert solution.certificate.structure.arc_count == 7
    assert solution.certificate.signs.wrong < 1e-6 and solution.certificate.signs.free == 0.0
    assert np.isclose(solution.duration, 0.7310477507, rtol=1e-9)


@pytest.mark.long
def test_time_alone_moves_the_slide_and_arm_as_momentum_does():
    """The force changes the momentum along the slide, whatever the elbow does: T = 2 sqrt(m dx / f)."""
    solution = certified(problems.two_link_pr.build(u=0.0))
    travel = math.pi / 4 - 0.1
    swing = 0.2 * (math.sin(math.pi / 2 - math.pi / 4) - math.sin(math.pi / 2 + 0.6))
    exact = 2.0 * math.sqrt((0.5 * travel + 0.5 * (travel + swing)) / 10.0)
    assert np.isclose(solution.duration, exact, rtol=1e-9) and solution.certificate.signs.free > 0.5
    assert solution.certificate.gain.of_oversteps < 1e-9


@fast_first(
    ("u", "objective", "switches"),
    [(0.001, 0.5694924, 2), (0.01, 0.8530628, 0), (0.1, 1.4123310, 0)],
)
def test_effort_softens_the_switches_and_then_removes_them(u, objective, switches):
    solution = certified(problems.two_link_pr.build(u=u))
    assert np.isclose(solution.objective, objective, rtol=1e-6)
    assert solution.certificate.structure.arc_count == switches + 1


@pytest.mark.long
def test_six_axes_turn_at_full_speed_and_fold_while_they_speed_up_and_brake():
    """The first axis alone decides between its two bangs; the other five help it only during these."""
    refine = trajopt.Certified(tol=1e-6, time_limit=200.0)
    solution = trajopt.solve(problems.six_axis_arm.build(), refine=refine)
    certificate = solution.certificate
    assert certificate.holds and certificate.method == "switching arcs", certificate.reason
    assert np.isclose(solution.duration, 0.5083411690, rtol=1e-9)
    held = [len(saturated) for saturated in certificate.structure.saturated]
    assert held == [6] * 6 + [1] + [6] * 5
    assert certificate.simulation.end_to_end < 1e-8
    assert certificate.gain.of_oversteps < 1e-9 and certificate.gain.of_margins < 1e-9


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "longest"),
    [
        pytest.param(
            {"time_limit": 40.0, "settings": trajopt.SearchSettings(total_iterations=1, refinements=4)},
            0.7945,
            marks=pytest.mark.thorough("added nodes of test_certified_ends stand for it"),
        ),
        ({"time_limit": 9.0}, 0.80),  # the coarse motion is extended instead
    ],
)
@pytest.mark.usefixtures("looks_take_a_second")
def test_without_a_structure_finer_knots_are_certified_in_the_time_that_is_given(limits, longest):
    solution = trajopt.solve(arm_under_gravity(), refine=trajopt.Certified(tol=1e-6, **limits))
    certificate = solution.certificate
    assert certificate.holds and certificate.structure is None and certificate.reason
    assert 0.788 < solution.duration < longest  # 20 intervals: 0.7959, which oversteps limits


PAGE = """# Title

| problem | meshes |
| --- | --- |
| arm | 3 |
| cart | 4 |

| problem | meshes | width |
| --- | --- | --- |
| arm | 3 | 1e-6 |

### arm

old

### cart

kept
"""


def test_one_row_and_one_section_of_a_page_are_replaced_by_name_and_width():
    page = with_section(with_row(PAGE, "| arm | 5 | 1e-8 |"), "arm", "new")
    assert page == PAGE.replace("| arm | 3 | 1e-6 |", "| arm | 5 | 1e-8 |").replace("old", "new")


def test_a_row_or_a_section_that_a_page_does_not_have_is_refused():
    with pytest.raises(OptionError, match="0 rows are called crane"):
        with_row(PAGE, "| crane | 1 |")
    with pytest.raises(OptionError, match="no section, or several, called 'crane'"):
        with_section(PAGE, "crane", "new")
