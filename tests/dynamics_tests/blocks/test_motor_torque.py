"""Motor torques beside springs and dampers, against their formula and robots built with other numbers.

Motor torques are polynomials of stiffness, relaxed displacement and viscous friction, of degree one in each:
central differences of them are exact for any step but for rounding.
"""

from dataclasses import replace

import numpy as np
import pytest
from complex_number import Number
from designed_blocks import (
    all_varying,
    close,
    differences,
    inputs,
    same_as_built,
    second_derivative,
    weighted_slopes,
    weights_of,
)
from random_trees import random_tree

from dynamics import DhRow, JointError, RigidBodyModel, ShapeError, UnknownNameError, from_dh, rnea

SPRINGS = {"joint1.stiffness": 3.0, "joint1.rest": -0.4, "joint2.damping": 0.7, "joint0.stiffness": 2.0}
OUTPUTS = ("motor_torque", "tau", "wrench:joint1")


def sprung(seed=1) -> RigidBodyModel:
    """A random tree with a spring and a damper on every joint, the last of which mimics the first."""
    model, rng = random_tree(seed, rotors=True, mimic=True), np.random.default_rng(seed)
    bodies = [
        replace(body, joint=replace(body.joint, stiffness=rng.uniform(1.0, 5.0), rest=rng.normal()))
        for body in model.bodies
    ]
    return replace(model, bodies=tuple(bodies))


def test_springs_and_dampers_act_on_the_displacements_of_their_joints():
    model = sprung()
    block = model.block(("motor_torque",))
    u = inputs(block, {})
    expected = rnea(model, u["q"], u["v"], u["a"])
    for body, i in zip(model.bodies, model.coordinate, strict=True):
        joint = body.joint
        d, w = joint.ratio * u["q"][:, i] + joint.offset, joint.ratio * u["v"][:, i]
        expected[:, i] += joint.ratio * (joint.stiffness * (d - joint.rest) + joint.damping * w)
    close(block.value(u)["motor_torque"], expected, 1e-13)
    assert list(block.outputs) == ["motor_torque"]


def designed():
    """The sprung robot with designed springs, dampers and a mass, and the numbers of a built one."""
    model, values = sprung(), {**SPRINGS, "link3.mass": 1.3}
    return model, values, model.designed_block(OUTPUTS, ("link2",), all_varying(values))


def test_designed_springs_are_those_of_a_robot_built_so():
    model, values, block = designed()
    plain = model.with_properties(values).block(OUTPUTS, ("link2",))
    assert set(block.outputs) == set(plain.outputs) == set(OUTPUTS)
    same_as_built(block, plain, inputs(block, values))


def test_derivatives_are_differences_and_stay_within_their_patterns():
    _, values, block = designed()
    u, weights = inputs(block, values), weights_of(block)
    partials, pattern = block.partials(u), block.pattern()
    curvature, bent = block.curvature(u, weights), block.curvature_pattern()
    ends = np.cumsum(list(block.inputs.values()))[:-1]
    for name in block.inputs:
        for output in block.outputs:
            expected = differences(lambda at, output=output: block.value(at)[output], u, name, 1e-5)
            close(partials.get((output, name), 0.0 * expected), expected, 1e-8)
            if (output, name) in partials:
                assert not np.any(partials[output, name][:, ~pattern[output, name]])
        slopes = differences(lambda at: weighted_slopes(block, weights, at), u, name, 1e-5)
        for other, expected in zip(block.inputs, np.split(slopes, ends, axis=1), strict=True):
            close(second_derivative(curvature, other, name, expected.shape), expected, 1e-7)
    assert all(not np.any(part[:, ~bent[pair]]) for pair, part in curvature.items())


def test_what_does_not_vary_is_taken_from_the_robot():
    model = sprung()
    fixed = {"joint1.stiffness": np.full(1, np.nan), "joint1.rest": np.full(1, 0.25)}
    block = model.designed_block(("motor_torque",), (), fixed)
    u = inputs(block, {"joint1.stiffness": 3.0, "joint1.rest": 99.0})
    plain = model.with_properties({"joint1.stiffness": 3.0, "joint1.rest": 0.25}).block(("motor_torque",))
    close(block.value(u)["motor_torque"], plain.value(u)["motor_torque"], 1e-13)
    assert ("motor_torque", "design:joint1.rest") not in block.pattern()


def test_other_arithmetic_gives_the_same_numbers():
    model = sprung()
    block = model.block(OUTPUTS)
    u = inputs(block, {})
    node = {name: [Number(x) for x in array[0]] for name, array in u.items()}
    found = block.value_over(node, Number)
    for name, expected in block.value(u).items():
        close(np.array(found[name], dtype=complex), expected[0], 1e-12)


def test_springs_are_kept_by_files_and_tables():
    model = sprung()
    again = RigidBodyModel.from_json(model.to_json())
    assert [joint.stiffness for joint in again.joints] == [joint.stiffness for joint in model.joints]
    assert [joint.rest for joint in again.joints] == [joint.rest for joint in model.joints]
    arm = from_dh([DhRow(a=0.4, mass=1.0, inertia=np.eye(3), stiffness=3.0, rest=0.1)])
    assert (arm.joints[0].stiffness, arm.joints[0].rest) == (3.0, 0.1)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"joint1.stiffness": -1.0}, JointError, "stiffness is -1.0; it must not be negative"),
        ({"joint1.rest": np.nan}, Exception, "joint1"),
        ({"joint1.spring": 1.0}, UnknownNameError, "one of .*stiffness"),
        ({"joint99.stiffness": 1.0}, UnknownNameError, "no joint or frame is called 'joint99'"),
        ({"joint1.stiffness": [1.0, 2.0]}, ShapeError, "it has 1 components"),
    ],
)
def test_springs_that_cannot_be_are_named(values, error, words):
    with pytest.raises(error, match=words):
        sprung().with_properties(values)
