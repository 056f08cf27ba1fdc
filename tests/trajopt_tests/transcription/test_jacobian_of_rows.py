"""The Jacobian of some rows alone is that part of the whole one."""

import numpy as np
from tiers import every

import trajopt
from problems import catalogue

PROBLEMS = ["cart_pole", "hop", "minimum_acceleration", "two_link_pr", "urdf_arm"]


@every("share", [0.2, 0.0, 1.0], fast=1)
@every("name", PROBLEMS)
def test_rows_that_are_kept_have_the_entries_of_the_whole_jacobian(name, share):
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    rng = np.random.default_rng(3)
    kept = rng.random(nlp.row_count) < share
    y = nlp.start + 0.01 * rng.standard_normal(nlp.variable_count)
    expected = nlp.jacobian(y)[kept[nlp.jacobian_rows]]
    found = nlp.jacobian_of_rows(kept)(y)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=0, atol=1e-13 * max(1.0, np.abs(expected).max(initial=0.0)))


def test_one_of_these_problems_has_several_arcs():
    nlp = trajopt.transcribe(catalogue.build("hop", {}))
    assert nlp.unknowns.nodes.arc[-1] > 0
