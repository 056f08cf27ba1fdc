"""Parts that the structure of a problem alone decides are made once for all problems that have it."""

import gc
from functools import _lru_cache_wrapper

import numpy as np
import pytest
from tiers import fast_first

import problems
import trajopt
from trajopt.base.arrays import content_of
from trajopt.splines.basis import SplineBasis

POINT = 0.01  # added to all unknowns of the start: no derivative vanishes there


def evaluated(nlp):
    """Rows, gradient, Jacobian and Hessian beside the start, with where the entries stand."""
    y = nlp.start + POINT
    values = nlp.rows(y), nlp.gradient(y), nlp.jacobian(y), nlp.hessian(y, np.ones(nlp.row_count), 1.0)
    return *values, nlp.jacobian_rows, nlp.jacobian_columns, nlp.hessian_rows, nlp.hessian_columns


def forget():
    """Empty every cache of the package, those frozen after collection, too."""
    gc.unfreeze()
    for each in gc.get_objects():
        if type(each) is _lru_cache_wrapper and each.__module__.startswith("trajopt"):
            each.cache_clear()
    gc.freeze()


@fast_first(
    "change",
    [
        {"q_end": (0.7, -0.4)},
        {"intervals": 7},
        {"torque_lower": (-5.0, -6.0)},
        {"v_end": (0.3, 0.1)},
    ],
)
def test_a_problem_after_another_has_the_functions_that_it_has_alone(change):
    forget()
    alone = evaluated(trajopt.transcribe(problems.two_link_rr.build(**{"intervals": 6, **change})))
    forget()
    trajopt.transcribe(problems.two_link_rr.build(intervals=6))
    after = evaluated(trajopt.transcribe(problems.two_link_rr.build(**{"intervals": 6, **change})))
    for one, other in zip(alone, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_programs_of_two_goals_share_their_maps_and_not_their_values():
    first, second = (
        trajopt.transcribe(problems.two_link_rr.build(intervals=6, q_end=goal)) for goal in ((1, 1), (2, 0))
    )
    assert first.leaf_map is second.leaf_map
    assert first.curvature.entries is second.curvature.entries
    assert not np.allclose(first.leaf_offset, second.leaf_offset)


def test_bases_with_the_same_breakpoints_are_one_and_others_are_not():
    assert SplineBasis.uniform(6) is SplineBasis.uniform(6)
    assert SplineBasis.uniform(6) is not SplineBasis.uniform(6, degree=4)
    moved = np.linspace(0.0, 1.0, 7)
    moved[3] = np.nextafter(moved[3], 1.0)
    assert SplineBasis.clamped(moved, 3) is not SplineBasis.uniform(6)


def test_arrays_are_the_same_content_where_type_shape_and_entries_are():
    array = np.arange(6.0)
    content = content_of(array)
    assert content == content_of(array.copy()) and hash(content) == hash(content_of(array.copy()))
    assert content != content_of(array.reshape(2, 3))
    assert content != content_of(array.view(np.int64))


@pytest.mark.parametrize(
    "shared",
    [
        lambda nlp, basis, nodes: basis.knots,
        lambda nlp, basis, nodes: basis.greville,
        lambda nlp, basis, nodes: basis.first_control_point,
        lambda nlp, basis, nodes: nodes.s,
        lambda nlp, basis, nodes: nodes.basis,
        lambda nlp, basis, nodes: nlp.hessian_rows,
        lambda nlp, basis, nodes: nlp.unknowns.elimination.free,
        lambda nlp, basis, nodes: nlp.unknowns.elimination.N.data,
        lambda nlp, basis, nodes: nlp.leaf_map.B.data,
        lambda nlp, basis, nodes: nlp.curvature.entries.matrix.data,
    ],
    ids=["knots", "Greville abscissae", "first control points", "nodes", "basis at nodes", "Hessian's rows",
         "free unknowns", "N", "B", "Hessian's map"],
)  # fmt: skip
def test_what_other_problems_share_cannot_be_changed(shared):
    """Knots in seconds, say, `basis.knots * T` written in place, were the knots of all later problems."""
    problem = problems.two_link_rr.build(intervals=6)
    nlp = trajopt.transcribe(problem)
    array = shared(nlp, problem.trajectory.arcs[0].basis, problem.trajectory.nodes)
    with pytest.raises(ValueError, match="read-only"):
        array *= 2
