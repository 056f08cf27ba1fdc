"""Every row of a program has a label that says which constraint, component and place it belongs to."""

import numpy as np
import pytest
from hand_written import PointMasses

import trajopt
from problems import catalogue
from trajopt.transcription.unknowns import RowLabel, UnknownLabel, UnknownLabels


def two_arcs():
    arcs = (trajopt.Arc(trajopt.SplineBasis.uniform(2, 3), (0.3, 2.0)),) * 2
    problem = trajopt.Problem(PointMasses(2, 2.0, 50.0), trajopt.Trajectory(arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0)
    problem.parameter("gain", lower=-2.0, upper=2.0, guess=-1.0)
    problem.extra("force", 2, lower=-3.0, upper=3.0, guess=1.0)
    problem.subject_to(trajopt.q, -1.5, 1.5, hold="hull", name="range")
    problem.subject_to(trajopt.v, -4.0, 4.0, hold="hull", name="speed")
    problem.subject_to(trajopt.tau, -50.0, 50.0, name="torque")
    problem.minimize(trajopt.duration)
    return problem


def test_labels_are_values_and_print_where_a_row_holds():
    node = RowLabel("via", "elbow", node=12, s=0.5)
    assert str(node) == "via, elbow at s = 0.5 (node 12)" and node == RowLabel("via", "elbow", 12, 0.5)
    assert str(RowLabel("via", node=12, s=0.5, arc=1)) == "via at s = 0.5 of arc 1 (node 12)"
    assert str(RowLabel("speed", "elbow", arc=1, control_point=3)) == "speed, elbow, control point 3 of arc 1"
    assert str(RowLabel("q at the start", "elbow")) == "q at the start, elbow"


def test_unknowns_are_named_by_what_they_are_and_what_bounds_them():
    problem = two_arcs()
    layout = trajopt.transcribe(problem).unknowns.layout
    unknowns = UnknownLabels(problem, layout)
    labels = [unknowns.label(column) for column in range(layout.size)]
    of_joint, of_force = labels[layout.groups[0].column(1, 2, 1)], labels[layout.groups[0].column(1, 2, 2)]
    assert str(of_joint) == "control point 2 of slider 1 in arc 1 (near s = 0.5, by 'range')"
    assert (of_joint.constraint, of_joint.component) == ("range", "slider 1")
    assert (of_force.constraint, of_force.component) == ("bounds of force 0", "")
    assert labels[layout.durations.start + 1] == UnknownLabel("duration", arc=1)
    assert str(labels[-1]) == "parameter gain" and len(set(labels)) == layout.size


def test_every_row_has_one_label():
    nlp = trajopt.transcribe(two_arcs())
    assert len(nlp.row_labels) == nlp.row_count == len(set(nlp.row_labels))
    assert {label.constraint for label in nlp.row_labels} == {"speed", "torque", "continuity of v"}
    nodes = [label.node for label in nlp.row_labels if label.constraint == "torque"]
    assert nodes == sorted(nodes) and set(nodes) == set(range(nlp.unknowns.nodes.count))


@pytest.mark.parametrize("name", ["two_link_rr", "urdf_arm", "hop", "betts_robot_arm"])
def test_no_row_is_constant(name):
    """Rows without entries are left out before the program is assembled."""
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    assert np.array_equal(np.unique(nlp.jacobian_rows), np.arange(nlp.row_count))
