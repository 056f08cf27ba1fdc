"""The balance of a robot on feet between nodes, against inverse dynamics under the forces of its feet."""

from dataclasses import replace

import numpy as np
import pytest
from feet import missing_at_base

import trajopt
from problems.gallery.legged import quadruped_trot
from trajopt.checks import residual_forces as module
from trajopt.checks.residual_forces import BaseBalance, base_balance


@pytest.fixture(scope="module")
def trot():
    return trajopt.solve(quadruped_trot.build(intervals=5), refine=None, progress="silent")


@pytest.fixture(scope="module")
def report(trot):
    return trot.verify()


@pytest.mark.long
def test_the_missing_force_is_that_of_inverse_dynamics(trot):
    """In weights, largest over all times; slides of the base are along the axes of the world."""
    found, weight = base_balance(trot), 9.81 * trot.problem.dynamics.total_mass
    t = np.linspace(1e-9, trot.duration - 1e-9, 4001)
    missing = np.linalg.norm(missing_at_base(trot, t)[:, :3], axis=1) / weight
    assert found.force == pytest.approx(missing.max(), rel=2e-2)
    here = np.linalg.norm(missing_at_base(trot, np.array([found.force_time]))[0, :3]) / weight
    assert found.force == pytest.approx(here, rel=1e-9)
    assert 0.15 < found.height < 0.35


@pytest.mark.long
def test_a_finer_mesh_misses_less(trot):
    finer = trajopt.solve(quadruped_trot.build(intervals=12), refine=None, progress="silent")
    coarse, fine = base_balance(trot), base_balance(finer)
    assert fine.force < 0.5 * coarse.force and fine.moment < 0.5 * coarse.moment


@pytest.mark.long
def test_the_report_says_what_is_missed(trot, report):
    balance = base_balance(trot)
    assert report.balance == balance and f"balance between nodes: {balance}" in report.table
    assert report.summary()["balance"]["force"] == balance.force


@pytest.mark.long
def test_a_motion_that_the_ground_does_not_carry_fails(trot, report, monkeypatch):
    monkeypatch.setattr(module, "UNBALANCED", 1e-6)
    assert "the ground does not carry the robot between nodes" in base_balance(trot).reason
    report = replace(report, equations=(), violations=(), costs=())
    assert report.verdict == "FAIL" and report.reason.startswith("the ground does not carry")


@pytest.mark.parametrize("broken", [{"force": 0.06}, {"moment": 0.06}, {"force": np.nan}, {"moment": np.nan}])
def test_what_is_too_much_or_no_number_fails(broken):
    whole = BaseBalance(0.04, 0.1, 0.04, 0.2, 0.25)
    assert not whole.reason
    assert "0.05 of each is allowed: a small cost of accelerations" in replace(whole, **broken).reason


@pytest.mark.long
def test_forces_missed_on_a_coarse_mesh_name_the_cost_that_stills_joints(report):
    """The residual forces of 5 intervals by a bound that they break, with and without halved intervals.

    A foot that slides is told first where it misses more: by how much hangs on which optimum was found.
    """
    forces = tuple(each for each in report.violations if each.label.startswith("residual forces"))
    report = replace(report, accuracy=1e-4, violations=forces)
    for refined in ("", "most nodes"):
        reason = replace(report, refined=refined).reason
        assert "residual forces" in reason and "problem.minimize(trajopt.a[6:] ** 2, 1e-5)" in reason
