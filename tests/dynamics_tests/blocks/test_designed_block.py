"""Derivatives by properties of a robot, against robots that are built with other numbers.

Torques, wrenches, momentum and energies are polynomials of masses, centres of mass, inertias, positions and
gear ratios, of degree two in each: central differences of them are exact for any step but for rounding, and
so are those of their first derivatives. The centre of mass is a quotient of masses, and rotors of any shape
turn with sine and cosine: their differences have errors of the step's square.
"""

import numpy as np
import pytest
from designed_blocks import (
    NODES,
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

from dynamics import ModelError, RigidBodyModel, ShapeError, UnknownNameError

FORCES = ("tau", "base_wrench", "wrench:joint1")
SUMS = ("momentum", "kinetic_energy", "potential_energy", "centre_of_mass")
FRAMES = ("position:tool", "orientation:tool", "velocity:tool", "position:link2")


def designs(model: RigidBodyModel, gears: bool) -> dict[str, np.ndarray]:
    """Properties of every kind, changed from those of the model; massless links keep theirs."""
    rng = np.random.default_rng(5)
    heavy = [body.name for body in model.bodies if body.mass > 0.0]
    names = [f"{heavy[-1]}.mass", f"{heavy[-1]}.centre_of_mass", f"{heavy[-1]}.inertia", f"{heavy[0]}.mass"]
    names += ["joint0.position", "joint2.position", "tool.position"]
    if gears:
        names += [f"{body.joint.name}.gear_ratio" for body in model.bodies if body.joint.rotor is not None][
            :2
        ]
    scale = {"inertia": 1e-3}
    return {
        name: (value := model.property_value(name))
        + scale.get(name.rpartition(".")[2], 0.1) * rng.normal(size=value.shape)
        for name in names
    }


CASES = [
    pytest.param(seed, rotors, outputs, loads, id=f"{seed}-{rotors}-{outputs[0]}")
    for seed, rotors in ((0, "exact"), (1, "exact"), (1, "armature"), (2, "none"))
    for outputs, loads in ((FORCES, ("link2", "link0")), (SUMS, ()), (FRAMES, ()))
]
ONE_FAST = [
    case if "1-exact" in case.id else pytest.param(*case.values, id=case.id, marks=pytest.mark.long)
    for case in CASES
]


def robot(seed: int, rotors) -> RigidBodyModel:
    return random_tree(seed, rotors=True, mimic=seed == 1).with_rotors(rotors)


@pytest.mark.parametrize(("seed", "rotors", "outputs", "loads"), ONE_FAST)
def test_values_and_derivatives_by_the_motion_are_those_of_a_robot_built_so(seed, rotors, outputs, loads):
    model = robot(seed, rotors)
    values = designs(model, gears=rotors != "none")
    block = model.designed_block(outputs, loads, all_varying(values))
    plain = model.with_properties(values).block(outputs, loads)
    same_as_built(block, plain, inputs(block, values))


@pytest.mark.long
@pytest.mark.parametrize(("seed", "rotors", "outputs", "loads"), ONE_FAST)
def test_derivatives_by_properties_are_differences_of_built_robots(seed, rotors, outputs, loads):
    model = robot(seed, rotors)
    values = designs(model, gears=rotors != "none")
    block = model.designed_block(outputs, loads, all_varying(values))
    u = inputs(block, values)
    found = block.partials(u)

    def built(at):
        numbers = {name: at[f"design:{name}"][0] for name in values}
        value = model.with_properties(numbers).block(outputs, loads).value(at)
        return np.concatenate([value[output] for output in block.outputs], axis=1)

    ends = np.cumsum(list(block.outputs.values()))[:-1]
    for name in values:
        key = f"design:{name}"
        is_smooth = name.endswith(("mass", "gear_ratio"))
        step, tolerance = (1e-4, 1e-7) if is_smooth else (1e-3, 1e-10)
        by_output = np.split(differences(built, u, key, step), ends, axis=1)
        for output, expected in zip(block.outputs, by_output, strict=True):
            close(found.get((output, key), np.zeros_like(expected)), expected, tolerance)


@pytest.mark.parametrize(("seed", "rotors", "outputs", "loads"), CASES)
@pytest.mark.long
def test_second_derivatives_are_differences_of_first_ones(seed, rotors, outputs, loads):
    model = robot(seed, rotors)
    values = designs(model, gears=rotors != "none")
    block = model.designed_block(outputs, loads, all_varying(values))
    u, weights = inputs(block, values), weights_of(block)
    found = block.curvature(u, weights)
    ends = np.cumsum(list(block.inputs.values()))[:-1]
    for design in values:
        key = f"design:{design}"
        slopes = differences(lambda at: weighted_slopes(block, weights, at), u, key, 1e-5)
        for name, expected in zip(block.inputs, np.split(slopes, ends, axis=1), strict=True):
            close(second_derivative(found, name, key, expected.shape), expected, 3e-8)


def test_torques_are_linear_in_masses_and_inertias():
    """The regressor: the value at twice the change is the value plus twice the derivative, in one step."""
    model = robot(0, "exact")
    names = ("link2.mass", "link3.inertia")
    values = {name: model.property_value(name) for name in names}
    block = model.designed_block(("tau",), (), all_varying(values))
    u = inputs(block, values)
    for name in names:
        key = f"design:{name}"
        far = u | {key: 3.0 * u[key]}
        step = np.einsum("kmi,ki->km", block.partials(u)["tau", key], 2.0 * u[key])
        close(block.value(far)["tau"], block.value(u)["tau"] + step, 1e-12)


def test_components_that_do_not_vary_are_numbers_without_derivatives():
    model = robot(3, "exact")
    value = model.property_value("joint2.position")
    fixed = np.array([np.nan, 0.3, value[2]])
    block = model.designed_block(("tau",), (), {"joint2.position": fixed})
    u = inputs(block, {"joint2.position": np.array([0.2, 9.0, 9.0])})  # what is fixed is not read
    plain = model.with_properties({"joint2.position": [0.2, 0.3, value[2]]}).block(("tau",))
    close(block.value(u)["tau"], plain.value(u)["tau"], 1e-12)
    slope = block.partials(u)["tau", "design:joint2.position"]
    assert np.all(slope[:, :, 1:] == 0.0)
    assert np.abs(slope[:, :, 0]).max() > 0.0
    assert block.pattern()["tau", "design:joint2.position"].any(axis=0).tolist() == [True, False, False]


def test_nodes_may_have_different_robots():
    model = robot(0, "exact")
    block = model.designed_block(("tau", "base_wrench"), (), {"link2.mass": np.array([np.nan])})
    u = inputs(block, {"link2.mass": np.array([1.0])})
    several = u | {"design:link2.mass": np.array([[1.0], [2.0], [1.0]])}
    for k, mass in enumerate((1.0, 2.0, 1.0)):
        alone = block.value(u | {"design:link2.mass": np.full((NODES, 1), mass)})
        close(block.value(several)["tau"][k], alone["tau"][k], 1e-14)


def test_a_property_is_read_and_set():
    model = robot(0, "exact")
    for name, value in designs(model, gears=True).items():
        np.testing.assert_array_equal(model.with_properties({name: value}).property_value(name), value)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("link2.weight", UnknownNameError, "no property is called 'link2.weight'"),
        ("link2", UnknownNameError, "give the name of a link"),
        (5, UnknownNameError, "no property is called 5"),
        ("lnk2.mass", UnknownNameError, "did you mean"),
        ("elbow.position", UnknownNameError, "no joint or frame is called 'elbow'"),
        ("tool.gear_ratio", UnknownNameError, "no joint"),
    ],
)
def test_names_that_a_robot_does_not_have_are_refused(name, error, words):
    with pytest.raises(error, match=words):
        robot(0, "exact").property_value(name)


def test_a_gear_ratio_without_a_rotor_is_refused():
    bare = random_tree(0)
    with pytest.raises(ModelError, match="no rotor with inertia"):
        bare.property_value("joint0.gear_ratio")
    with pytest.raises(ModelError, match="leaves rotors out"):
        robot(0, "none").property_value("joint0.gear_ratio")


def test_properties_that_are_no_dictionary_are_refused():
    with pytest.raises(ModelError, match="properties are given as None; give a dictionary"):
        robot(0, "exact").with_properties(None)


def test_values_of_another_width_are_refused():
    with pytest.raises(ShapeError, match="it has 3 components"):
        robot(0, "exact").with_properties({"tool.position": 0.3})
