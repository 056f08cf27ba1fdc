"""Blocks of a robot: values, first and contracted second derivatives, and what structure promises."""

import numpy as np
import pytest
from block_derivatives import adjoints, check_curvature, check_partials, inputs
from random_trees import floating_tree, random_tree
from slopes import both_ways

import dynamics
from dynamics.blocks.declared_quantities import QUANTITIES

INVERSE = [
    (("tau", "motor_torque", "base_wrench", "wrench:joint2", "wrench:joint0"), ("link1", "link2")),
    (("wrench:joint1",), ("link2",)),
]
NAMED = {"link": ":tool", "joint": ":joint1", "": ""}
ALONE = [(f"{name}{NAMED[declared.argument]}",) for name, declared in QUANTITIES.items()]
ENERGIES = ("kinetic_energy", "potential_energy")
KINEMATIC = [
    ("orientation:link2",),
    ("velocity:link1", "position:tool", "orientation:tool", "momentum", "centre_of_mass", *ENERGIES),
]
CASES = [*INVERSE, *((outputs, ()) for outputs in KINEMATIC)]
CASES += [pytest.param((outputs, ()), marks=pytest.mark.long) for outputs in ALONE]


ROBOTS = [(random_tree, 4, "armature"), (floating_tree, 2, "exact")]
MORE_ROBOTS = [(random_tree, 2, "exact"), (random_tree, 3, "none"), (floating_tree, 4, "armature")]
ROBOTS += [pytest.param(robot, marks=pytest.mark.long) for robot in MORE_ROBOTS]


@pytest.fixture(params=ROBOTS, ids=lambda robot: "-".join(map(str, (robot[0].__name__, *robot[1:]))))
def model(request):
    make, seed, rotors = request.param
    return make(seed, rotors=True).with_rotors(rotors)


def test_values_and_partials_together_are_those_alone():
    model = floating_tree(2, rotors=True).with_rotors("exact")
    for outputs, loads in CASES[:3]:
        block = model.block(outputs, loads)
        u = inputs(block)
        values, partials = block.value_and_partials(u)
        for name, value in block.value(u).items():
            np.testing.assert_allclose(values[name], value, rtol=1e-13, atol=1e-13)
        assert partials.keys() == block.partials(u).keys() == block.pattern().keys()


@pytest.fixture(params=CASES, ids=lambda case: "+".join(case[0]))
def block(request, model):
    return model.block(*request.param)


@pytest.mark.parametrize(("outputs", "loads"), CASES[:1] + CASES[3:4])
def test_derivatives_are_views_of_what_kernels_wrote_with_nodes_last(outputs, loads):
    block = random_tree(4).block([name for name in outputs if name != "motor_torque"], loads)
    u = inputs(block)
    parts = [*block.partials(u).values(), *block.curvature(u, adjoints(block)).values()]
    assert {part.strides[0] for part in parts} == {8}


@both_ways
def test_partials_are_exact_and_within_their_pattern(block, slope):
    check_partials(block, slope)


@both_ways
def test_curvature_is_exact_and_within_its_pattern(block, slope):
    check_curvature(block, slope)


def test_patterns_are_true_where_values_can_be_nonzero_and_tight_on_random_robots(block):
    u = inputs(block, nodes=3)
    for pair, part in block.partials(u).items():
        mask = block.pattern()[pair]
        assert mask.shape == part.shape[1:]
        assert not np.abs(part[:, ~mask]).any()


def test_adjoints_that_are_left_out_count_as_zero(model):
    block = model.block(("tau", "base_wrench"))
    u, y = inputs(block), adjoints(block)
    some = block.curvature(u, {"tau": y["tau"]})
    full = block.curvature(u, {"tau": y["tau"], "base_wrench": np.zeros((5, 6))})
    for pair in full:
        np.testing.assert_allclose(some[pair], full[pair], rtol=0.0, atol=1e-12)
    for part in model.block(("momentum", "position:tool")).curvature(inputs(block), {}).values():
        assert not part.any()


def test_second_derivatives_after_first_ones_are_those_of_a_block_that_was_asked_nothing_before():
    model = floating_tree(2, rotors=True).with_rotors("exact")
    outputs, loads = ("tau", "wrench:joint2"), ("link1",)
    block = model.block(outputs, loads)
    u = inputs(block)
    weights = adjoints(block)
    for name in ("q", "load:link1"):  # the same arrays, changed in place
        for part in (*block.value_and_partials(u)[0].values(), *block.partials(u).values()):
            part[...] = 0.0  # what was handed out belongs to the caller
        for _ in range(2):
            expected = model.block(outputs, loads).curvature(u, weights)
            for pair, part in block.curvature(u, weights).items():
                size = max(1.0, np.abs(expected[pair]).max())
                np.testing.assert_allclose(part, expected[pair], rtol=0.0, atol=1e-12 * size)
            u[name] += 0.1


def test_loads_act_as_external_wrenches(model):
    block = model.block(("tau", "base_wrench"), ("link1",))
    u = inputs(block)
    W = np.zeros((5, model.link_count, 6))
    W[:, model.link_index("link1")] = u["load:link1"]
    found = block.value(u)
    motion = (u["q"], u["v"], u["a"])
    for name, expected in (
        ("tau", dynamics.rnea(model, *motion, W)),
        ("base_wrench", dynamics.base_wrench(model, *motion, W)),
    ):  # blocks turn a rotation vector by the serial form, `rnea` by one joint of three axes
        rounding = 1e-14 * np.abs(expected).max()
        np.testing.assert_allclose(found[name], expected, rtol=0.0, atol=rounding)


def test_names_a_model_does_not_have_are_refused_with_what_it_has(model):
    with pytest.raises(
        dynamics.UnknownNameError, match=r"kinematics has no output 'height'; it has position"
    ):
        model.block(("height",))
    with pytest.raises(dynamics.UnknownNameError, match=r"inverse dynamics has no output 'momentum'"):
        model.block(("tau", "momentum"))
    with pytest.raises(dynamics.UnknownNameError, match="no joint 'joint99'"):
        model.block(("wrench:joint99",))
    with pytest.raises(dynamics.UnknownNameError, match="no link 'hand'"):
        model.block(("tau",), ("hand",))


def test_skeleton_joins_origins_of_joints_tools_and_tips(model):
    q = np.zeros((2, model.n))
    lines, poses = model.skeleton(q), dynamics.forward_kinematics(model, q)
    assert lines.shape[0] == 2
    assert lines.shape[2:] == (2, 3)
    starts = {tuple(np.round(p, 9)) for p in poses.position[0]}
    assert all(tuple(np.round(p, 9)) in starts for p in lines[0, :, 0])
    tool = dynamics.forward_kinematics(model, q, "tool").position[0, 0]
    assert np.abs(lines[0, :, 1] - tool).sum(axis=-1).min() < 1e-12
