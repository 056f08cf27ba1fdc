"""Every problem of the library, at its default parameters, holds between its nodes."""

import pytest

import trajopt
from problems import catalogue

SLOW = {"gait", "gait_stride", "hop", "planar_walker"}
# Its further solves for limits between nodes end with rows scaled by 1e-5 that miss by 7e-6 at a node, where
# 1e-6 is allowed: `verify` says FAIL. To be mended.
OPEN = {"gait_stride"}


def marks(name):
    slow = (pytest.mark.long,) if name in SLOW else ()
    return (*slow, pytest.mark.xfail(reason="misses a row at a node", strict=False)) if name in OPEN else slow


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in catalogue.names()])
def test_a_problem_at_its_defaults_passes(name):
    report = trajopt.solve(catalogue.build(name, {}), progress="silent").verify()
    assert report.verdict == "PASS", report.reason
