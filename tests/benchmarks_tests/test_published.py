"""Published problems of many kinds, posed as they are published, are found at first sight."""

import warnings

import pytest
from tiers import long_first

import trajopt
from benchmarks.published.__main__ import NEAR, PROBLEMS, difference, row
from benchmarks.published.reactors import kinetic_batch

BY_NAME = {problem.name: problem for problem in PROBLEMS}
#: Phases that branch, steps of data, motors that cannot be off, vectors of states.
AT_FIRST_SIGHT = (
    "two burns",
    "tuberculosis",
    "landing on Mars",
    "marine population",
)
#: Of the kinds of those above, or 6 to 25 processor s each, such as the one with algebraic variables.
FURTHER = (
    "kinetic batch reactor",
    *("hang glider", "tumour", "catalyst mixing", "channel", "plane change in air"),
    *("balanced field", "cannonball", "racing car, a lap"),
)  # the shuttle's cross range is found or lost by the last digits: docs/published.md


@long_first("name", AT_FIRST_SIGHT + FURTHER, len(AT_FIRST_SIGHT))
def test_a_published_problem_is_found_at_first_sight(name):
    problem = BY_NAME[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = row(problem)
    _, _, _, objective, apart, _, status, verdict, is_found = found
    assert (status, verdict, is_found) == ("converged", "PASS", "yes"), found
    assert abs(float(apart)) <= NEAR
    if problem.finer is None:
        assert abs(difference(float(objective), problem.reference)) <= NEAR


@pytest.mark.long
def test_algebraic_variables_are_found_on_a_mesh_of_half_the_intervals():
    """As the published problem is, but without refinement, and missed by more between nodes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = trajopt.solve(kinetic_batch(5), starts=1, refine=None, progress="silent")
    assert solution.converged
    assert abs(difference(solution.objective, BY_NAME["kinetic batch reactor"].reference)) <= NEAR


def test_names_of_published_problems_are_their_own():
    assert len(BY_NAME) == len(PROBLEMS)
