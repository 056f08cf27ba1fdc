"""One table says which quantities a problem has: what the dynamics declares, the leaves, and its own."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hand_written import PointMasses

import problems
import trajopt
from trajopt.base.errors import ProblemError, UnknownNameError
from trajopt.graph.quantities import LEAVES, SPLINE_LEAVES, STANDARD, TIME_LEAVES

JERKY = {
    "tau": trajopt.DeclaredQuantity(None, "N", "forces on the masses"),
    "gap": trajopt.DeclaredQuantity(1, "m", "distance of two masses", argument="pair"),
    "sway": trajopt.DeclaredQuantity(2, "m/s", "two numbers", ("left", "right"), block="sums"),
}


class Declaring(PointMasses):
    """Two masses that also offer their distance and two sums of velocities."""

    quantities = JERKY

    def block(self, outputs, loads=()):
        if outputs == ("tau",):
            return super().block(outputs)
        assert {name.partition(":")[0] for name in outputs} in ({"gap"}, {"sway"})  # blocks apart
        if "sway" in outputs:
            return trajopt.trace(lambda node: [node.v[0] + node.v[1], node.v[0]], "sway", lambda name: 2)
        return trajopt.trace(lambda node: node.q[0] - node.q[1], outputs[0], lambda name: 2)


def declaring_problem(**others):
    return trajopt.Problem(Declaring(2), trajopt.Trajectory.uniform(3, duration=1.0), **others)


def test_the_declared_leaves_are_the_leaves():
    assert tuple(LEAVES) == (*SPLINE_LEAVES, *TIME_LEAVES)


def test_the_model_declares_every_standard_quantity_alike():
    declared = problems.two_link_rr.build().dynamics.quantities
    parts = [field.name for field in fields(trajopt.DeclaredQuantity)]
    for name, standard in STANDARD.items():
        for part in parts:
            assert getattr(declared[name], part) == getattr(standard, part), (name, part)


def test_a_declared_quantity_is_a_term_an_input_of_terms_and_has_names():
    problem = declaring_problem()

    @trajopt.term
    def near(node):
        return node.gap("both") ** 2 + node.sway[0]

    problem.minimize(near)
    problem.subject_to(trajopt.Quantity("sway"), upper=3.0)
    assert problem.width_of("gap:both") == 1
    assert problem.component_names("sway", 2) == ["left", "right"]
    assert problem.component_names("tau", 2) == ["slider 0", "slider 1"]
    nlp = trajopt.transcribe(problem)
    assert nlp.has_hessian
    assert np.isfinite(nlp.rows(nlp.start)).all()


def test_the_table_follows_what_is_declared_later_on_a_problem_and_on_its_copies():
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(3, duration=1.0))
    first = problem.quantities
    assert problem.quantities is first and not first.knows("parameter:load")
    copied = problem.independent_copy()
    problem.parameter("load", 0.0, 5.0)
    problem.extra("push", lower=-1.0, upper=1.0, unit="N")
    assert problem.width_of("parameter:load") == 1 and problem.quantity_units("extra:push", 1) == ["N"]
    with pytest.raises(UnknownNameError, match="parameter:load"):
        copied.width_of("parameter:load")
    problem.extras["push"] = replace(problem.extras["push"], unit="kN")
    assert problem.quantity_units("extra:push", 1) == ["kN"]
    problem.data("slope", [0.0, 1.0], [0.0, 1.0])
    assert problem.quantities.knows("data:slope")


def test_a_quantity_that_a_dynamics_does_not_declare_is_unknown():
    problem = declaring_problem()
    with pytest.raises(UnknownNameError, match=r"'swai' \(did you mean 'sway'\?\): known are .*gap:PAIR"):
        problem.minimize(trajopt.Quantity("swai"))
    with pytest.raises(UnknownNameError, match="no quantity is called 'position:slider 0'"):
        problem.minimize(trajopt.position("slider 0"))


def test_an_argument_is_asked_for_where_there_is_one_and_refused_where_there_is_none():
    problem = declaring_problem()
    with pytest.raises(UnknownNameError, match="'gap' needs the name of a pair: 'gap:PAIR'"):
        problem.minimize(trajopt.Quantity("gap"))
    with pytest.raises(UnknownNameError, match="no quantity is called 'sway:left'"):
        problem.minimize(trajopt.Quantity("sway:left"))


def test_a_dynamics_without_declarations_has_the_standard_quantities():
    problem = trajopt.Problem(PointMasses(2))
    assert problem.width_of("tau") == 2
    assert problem.width_of("orientation:hand") == 9
    assert problem.component_names("momentum", 6)[0] == "angular x"


@pytest.mark.parametrize(
    ("quantities", "message"),
    [
        (["tau"], r"the quantities of Wrong are a list: give a dictionary"),
        ({"tau": SimpleNamespace(width=2)}, r"the quantity 'tau' of Wrong has no `unit`: use trajopt"),
    ],
)
def test_a_declaration_that_lacks_a_part_is_named_when_the_problem_is_made(quantities, message):
    wrong = type("Wrong", (PointMasses,), {"quantities": quantities})
    with pytest.raises(ProblemError, match=message):
        trajopt.Problem(wrong(2))


def test_ready_terms_say_what_they_are_with_shape_and_unit():
    assert trajopt.q.description == "joint positions, (n,), rad or m"
    assert trajopt.position("hand").description.endswith("(3,), m")
    assert trajopt.Quantity("extra:force").description == "an unknown curve beside the joints' curves"
