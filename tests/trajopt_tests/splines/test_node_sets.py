"""Node sets: which nodes, check times and weights a cost or constraint has."""

import numpy as np
import pytest

import trajopt
from trajopt import Arc, ArcNodes, Neighbours, SplineBasis, Trajectory
from trajopt.base.errors import OptionError
from trajopt.splines.node_sets import END, PATH, START, node_set

TWO_ARCS = Trajectory((Arc(SplineBasis.uniform(2, 3)), Arc(SplineBasis.uniform(4, 3), nodes_per_span=3)))


class PointMass:
    """a = tau on a line."""

    n, joint_names = 1, ("x",)

    class limits:
        q_lower = q_upper = velocity = torque_lower = torque_upper = np.full(1, np.inf)

    def block(self, outputs, loads=()):
        raise NotImplementedError


def test_a_node_set_equals_what_users_write_for_it():
    for written, known in (("path", PATH), ("start", START), ("end", END)):
        assert node_set(written) is known and known == written and hash(known) == hash(written)
    window = node_set((0, 0.5))
    assert window == (0.0, 0.5) and window != PATH and str(window) == "(0.0, 0.5)"
    assert START in ("start", "end") and PATH not in ("start", "end")
    assert node_set(ArcNodes(1)) == ArcNodes(1) != ArcNodes(1, "whole")
    assert ArcNodes(1) != PATH and Neighbours() != PATH


@pytest.mark.parametrize(
    "over", ["middle", (0.5,), (0.5, 0.2), ("a", "b"), 3, None, np.zeros(2), [1.0, 0.5], []]
)
def test_what_is_no_node_set_is_refused(over):
    with pytest.raises(OptionError, match="over is "):
        node_set(over)


@pytest.mark.parametrize(
    ("over", "first", "last"),
    [
        ("path", 0.0, 2.0),
        ((0.25, 0.75), 0.5, 1.5),
        (ArcNodes(1, "whole"), 1.0, 2.0),
        (ArcNodes(1), 1.0, 2.0),
        (ArcNodes(0, (0.5, 1.0)), 0.5, 1.0),
    ],
)
def test_the_weights_of_an_integral_integrate_a_cubic_over_its_part(over, first, last):
    nodes, known = TWO_ARCS.nodes, node_set(over)
    weights = known.cost_weights(TWO_ARCS)
    assert known.integrates and weights.shape == (nodes.count,)
    assert np.isclose(weights @ (nodes.arc + nodes.s) ** 3, (last**4 - first**4) / 4, rtol=1e-13)


@pytest.mark.parametrize(
    ("over", "place"), [("start", 0.0), ("end", 2.0), (ArcNodes(1, "start"), 1.0), (ArcNodes(0, "end"), 1.0)]
)
def test_the_weights_of_a_value_are_one_at_its_node(over, place):
    nodes, known = TWO_ARCS.nodes, node_set(over)
    weights = known.cost_weights(TWO_ARCS)
    assert not known.integrates and weights.sum() == 1.0
    assert (nodes.arc + nodes.s)[weights > 0.0] == place


@pytest.mark.parametrize("over", [Neighbours(), Neighbours(0), ArcNodes(0, "extra")])
def test_a_cost_over_nodes_without_an_integral_is_refused_where_it_is_written(over):
    problem = trajopt.Problem(PointMass(), TWO_ARCS)
    with pytest.raises(OptionError, match="nothing can be minimized over"):
        problem.minimize(trajopt.q, over=over)
    with pytest.raises(OptionError, match="nothing can be minimized over"):
        over.cost_weights(TWO_ARCS)


def test_costs_over_arcs_add_up_to_the_cost_over_the_path():
    def objective(*parts):
        problem = trajopt.Problem(PointMass(), TWO_ARCS)
        problem.start_at(q=0.0, v=0.0)
        problem.end_at(q=1.0, v=0.0)
        for over in parts:
            problem.minimize(trajopt.a**2, over=over)
        nlp = trajopt.transcribe(problem)
        return nlp.objective(nlp.start + 0.1 * np.sin(np.arange(nlp.variable_count)))

    arcs = ArcNodes(0, "whole"), ArcNodes(1, (0.0, 0.5)), ArcNodes(1, (0.5, 1.0))
    assert np.isclose(objective(*arcs), objective("path"), rtol=1e-13)


def test_equal_neighbours_hold_a_position_over_the_whole_motion():
    """Differences of positions are rows, not eliminated values: this raised a TypeError."""
    problem = trajopt.Problem(PointMass(), Trajectory.uniform(2, 3, duration=1.0))
    problem.minimize(trajopt.v**2)
    problem.start_at(q=0.3)
    problem.subject_to(trajopt.q, -1e-3, 1e-3, over=Neighbours(), name="slow")
    problem.subject_to(trajopt.q, equals=0.0, over=Neighbours(), name="still")
    nlp = trajopt.transcribe(problem)
    assert [group.name for group in nlp.groups] == ["slow", "still"]
    assert all(group.count == problem.trajectory.nodes.count - 1 for group in nlp.groups)


def test_an_arc_set_has_the_check_times_of_its_part():
    class Times:
        arc = np.array([0, 0, 0, 1, 1, 1])
        along = np.array([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])
        inner = np.array([False, True, False] * 2)

    def places(over):
        return np.flatnonzero(node_set(over).mask(Times)).tolist()

    assert places("path") == places(Neighbours()) == [0, 1, 2, 3, 4, 5]
    assert (places("start"), places("end")) == ([0], [5])
    assert places((0.25, 0.5)) == [1, 2, 3] and places(ArcNodes(1, (0.5, 1.0))) == [4, 5]
    assert places(ArcNodes(1)) == places(ArcNodes(1, "extra")) == [4]
    assert (places(ArcNodes(1, "start")), places(ArcNodes(0, "end"))) == ([3], [2])
    assert places(ArcNodes(0, "whole")) == [0, 1, 2] and places(Neighbours(0)) == [2, 3]


@pytest.mark.parametrize("over", [(0.5, 0.5), 0.5])
def test_one_instant_is_told_to_be_where_arcs_meet(over):
    with pytest.raises(OptionError, match=r"where two arcs meet: Trajectory.uniform\(10, arcs=2\)"):
        node_set(over)


@pytest.mark.parametrize("over", [0, 1, 1.0, (1, 1)])
def test_ends_as_numbers_get_their_names(over):
    with pytest.raises(OptionError, match="the ends of the motion are 'start' and 'end'") as caught:
        node_set(over)
    assert "arcs meet" not in str(caught.value)


@pytest.mark.parametrize("over", [7, -0.5, float("nan"), (7, 7)])
def test_a_number_beyond_the_motion_is_no_instant_of_it(over):
    with pytest.raises(OptionError, match="over is ") as caught:
        node_set(over)
    assert "arcs meet" not in str(caught.value) and "the ends of" not in str(caught.value)


def test_a_word_that_is_nearly_a_node_set_gets_the_near_match():
    with pytest.raises(OptionError, match=r"over is 'ende' .did you mean 'end'"):
        node_set("ende")


def test_arcs_of_uniform_trajectories_meet_where_a_value_can_be_prescribed():
    two = Trajectory.uniform(4, degree=4, arcs=2)
    (node,) = ArcNodes(0, "end").nodes(two)
    assert len(two.arcs) == 2 and two.nodes.s[node] == 1.0 and two.nodes.arc[node] == 0
    with pytest.raises(OptionError, match="arcs = 0"):
        Trajectory.uniform(4, arcs=0)
