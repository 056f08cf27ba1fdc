"""The measuring of the dynamics layer: nothing is left out, verdicts and fits are right."""

import inspect

import numpy as np
import pytest

import dynamics

pytest.importorskip("pinocchio")

from benchmarks.dynamics.calls import inputs, our_call, takes_nodes, timed_functions
from benchmarks.dynamics.growth import CURVES, fit, order_counts
from benchmarks.dynamics.page import verdict
from benchmarks.dynamics.pinocchio_peer import PEERS, peer_of
from benchmarks.papers.models import binary, biped, serial

# Not functions of nodes alone: constructors, wrappers, a study of a motion, forces with constants of their
# own; and the serial Christoffel recursion, which is NumPy for comparison.
UNTIMED = {
    "load_urdf",
    "from_dh",
    "from_modified_dh",
    "from_mujoco",
    "urdf_shapes",
    "load_spheres",
    "load_srdf",
    "hull",
    "load_allowed_pairs",
    "sphere",
    "capsule",
    "cylinder",
    "box",
    "half_space",
    "point_cloud",
    "in_threads",
    "armature_error",
    "joint_springs",
    "point_spring",
    "free_joint",
    "ball_joint",
    "load_osim",
    "load_scene",
    "load_function_paths",
    "joint_reactions",
    "recentred",
    "rotation_vector",
    "christoffel_symbols_serial",
    "base_parameters",
    "dynamic_parameter_names",
    "dynamic_parameters",
    "with_dynamic_parameters",
    "regressor_gradient",
    "warmup",
}


def test_every_exported_function_is_timed_or_excused():
    exported = {name for name in dynamics.__all__ if inspect.isfunction(getattr(dynamics, name))}  # pyright: ignore
    assert exported - set(timed_functions()) <= UNTIMED
    assert set(PEERS) <= set(timed_functions())
    assert not takes_nodes(dynamics.RigidBodyModel)


@pytest.mark.long
@pytest.mark.parametrize("name", CURVES)
def test_every_growth_curve_can_be_called(name):
    CURVES[name].call(serial(3))()


@pytest.mark.long
def test_every_timed_function_can_be_called():
    model = serial(3)
    arrays = inputs(model, 2)
    for name in timed_functions():
        assert our_call(name, model, arrays)() is not None


@pytest.mark.parametrize("model", [serial(4), binary(6), biped(4)], ids=lambda model: model.name)
def test_the_peer_is_the_same_robot(model):
    assert sorted(peer_of(model).order) == list(range(model.n))  # peer_of compares the torques itself


def test_verdicts_are_about_the_bounds():
    assert verdict(0.17, 0.3, 0.18) == "aim reached"
    assert verdict(0.3, 0.3, 0.18) == "must kept"
    assert verdict(0.31, 0.3, 0.18) == "**must missed**"


def test_pairs_and_triples_of_a_chain_and_a_tree_are_counted():
    assert order_counts(serial(3)) == [1, 3, 1 + 2 + 3, 1 + 3 + 6]
    assert order_counts(binary(3)) == [1, 3, 1 + 2 + 2, 1 + 3 + 3]


def test_a_fit_finds_the_formula_that_made_the_times():
    counts = np.array([order_counts(tree(size)) for tree in (serial, binary) for size in (4, 9, 15, 22)])
    made = np.array([2.0, 0.0, 0.5, 0.25])
    np.testing.assert_allclose(fit(counts @ made, counts), made, atol=1e-10)
