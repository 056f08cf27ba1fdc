"""Schedules say which feet stand in which arc; what cannot be meant is refused."""

import numpy as np
import pytest
from tiers import every

import trajopt
from trajopt.base.errors import OptionError, UnknownNameError

PAIRS = ("FL", "HR"), ("FR", "HL")


def test_a_trot_has_two_pairs_in_turns():
    gait = trajopt.Schedule.trot(*PAIRS, period=0.5)
    assert gait.feet == ("FL", "HR", "FR", "HL")
    assert gait.durations == (0.25, 0.25)
    assert [gait.arcs(foot) for foot in gait.feet] == [(0,), (0,), (1,), (1,)]


def test_a_flight_shortens_the_stances_within_the_same_period():
    gait = trajopt.Schedule.bound(("HL", "HR"), ("FL", "FR"), period=0.4, flight=0.05)
    assert [each.feet for each in gait.stances] == [("HL", "HR"), (), ("FL", "FR"), ()]
    assert sum(gait.durations) == pytest.approx(0.4)


def test_in_a_walk_every_foot_is_lifted_once():
    gait = trajopt.Schedule.walk(("a", "b", "c", "d"), period=1.0, lifted=0.2)
    lifted = [set(gait.feet) - set(each.feet) for each in gait.stances]
    assert lifted == [set(), {"a"}, set(), {"b"}, set(), {"c"}, set(), {"d"}]
    assert sum(gait.durations) == pytest.approx(1.0)


def test_half_a_period_keeps_the_feet_that_stand_later():
    half = trajopt.Schedule.trot(*PAIRS, period=0.5).first(1)
    assert half.feet == ("FL", "HR", "FR", "HL") and half.arcs("FR") == () and half.arcs("FL") == (0,)


def test_the_mesh_has_one_arc_per_stance_with_its_duration():
    gait = trajopt.Schedule.jump(("l", "r"), push=(0.1, 0.5), flight=0.3, landing=(0.2, 0.6))
    mesh = gait.trajectory(intervals=4)
    assert [arc.duration_bounds for arc in mesh.arcs] == [(0.1, 0.5), (0.3, 0.3), (0.2, 0.6)]
    np.testing.assert_allclose(
        mesh.arcs[1].basis.breakpoints, [0, 0.5 - 0.5**1.5, 0.5, 0.5 + 0.5**1.5, 1], atol=1e-15
    )


@every(
    "wrong, message",
    [
        (lambda: trajopt.Schedule([]), "one pair"),
        (lambda: trajopt.Schedule("left"), "one pair"),
        (lambda: trajopt.Schedule([("left", 0.3)]), "sequence of names"),
        (lambda: trajopt.Schedule([(("left", "left"), 0.3)]), "twice"),
        (lambda: trajopt.Schedule([(("left",), 0.0)]), "number above 0"),
        (lambda: trajopt.Schedule([(("left",), (0.3, 0.1))]), "number above 0"),
        (lambda: trajopt.Schedule([(("left",), float("nan"))]), "seconds"),
        (lambda: trajopt.Schedule([(("left",), "long")]), "seconds"),
        (lambda: trajopt.Schedule([(("left",), np.inf)]), "number above 0"),
        (lambda: trajopt.Schedule([(2, 0.3)]), "feet are 2: give a sequence of names"),
        (lambda: trajopt.Schedule.walk(4, period=1.0), "feet are 4: give a sequence of names"),
        (lambda: trajopt.Schedule([((), 0.3)]), "at least one"),
        (lambda: trajopt.Schedule([(("left",), 0.3)], feet=("right",)), "name all"),
        (lambda: trajopt.Schedule.trot(*PAIRS, period=0.5, flight=0.25), "less than 0.25"),
        (lambda: trajopt.Schedule.walk(("a", "b"), period=1.0, lifted=0.5), "less than 0.5"),
        (lambda: trajopt.Schedule.walk(("a", "b"), period=1.0, lifted="short"), "lifted = 'short'"),
        (lambda: trajopt.Schedule.trot(*PAIRS, period=-0.5), "period = -0.5"),
        (lambda: trajopt.Schedule.trot(("FL", "HR"), ("FR", "HR"), period=0.5), "twice: FL, HR, FR, HR"),
        (lambda: trajopt.Schedule.bound(("HL",), ("HL",), period=0.5, flight=0.1), "twice: HL, HL"),
        (lambda: trajopt.Schedule.walk(("a", "b", "a"), period=1.0), "twice: a, b, a"),
        (lambda: trajopt.Schedule.trot(("FL", "HR"), (), period=0.5), "a group of feet is empty"),
        (lambda: trajopt.Schedule.trot(*PAIRS, period=0.5).first(3), "number of arcs of a schedule"),
        (lambda: trajopt.Schedule.trot(*PAIRS, period=0.5).first("one"), "number of arcs of a schedule"),
    ],
)
def test_what_is_no_schedule_is_refused(wrong, message):
    with pytest.raises(OptionError, match=message):
        wrong()


def test_a_foot_that_the_schedule_does_not_have_is_named_with_those_it_has():
    with pytest.raises(UnknownNameError, match="there are FL, HR, FR, HL"):
        trajopt.Schedule.trot(*PAIRS, period=0.5).arcs("FLL")
