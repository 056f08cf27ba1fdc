"""The robot that users hold adds methods to the kinematic tree, which algorithms take."""

import pickle

import numpy as np

from dynamics import Body, Joint, RigidBodyModel, rnea
from dynamics.model.kinematic_tree import KinematicTree

ROD = np.diag([0.0, 0.02, 0.02])


def arm():
    """Two rods of 1 kg on revolute joints half a metre apart."""
    upper, fore = (
        Body(name, Joint(f"{name}_joint", position=(0.5, 0, 0)), parent, 1.0, (0.25, 0, 0), ROD)
        for name, parent in (("upper", None), ("fore", "upper"))
    )
    return RigidBodyModel((upper, fore))


def test_algorithms_take_the_kinematic_tree_below_the_users_model():
    """The class of users adds methods; the value without them is computed with, and refused nothing."""
    model = arm()
    tree = KinematicTree(model.bodies, model.gravity, model.name)
    q, v, a = np.random.default_rng(0).normal(size=(3, model.n))
    assert np.array_equal(rnea(tree, q, v, a), rnea(model, q, v, a))
    assert repr(tree).startswith("<KinematicTree")
    assert not hasattr(tree, "block") and tree.to_json() == model.to_json()


def test_a_changed_or_pickled_model_keeps_its_class():
    model = arm()
    _ = model.packed
    copies = [model.with_rotors("none"), model.with_gravity((0, 0, 0)), pickle.loads(pickle.dumps(model))]
    copies += [model.with_properties({"upper.mass": 2.0}), RigidBodyModel.from_json(model.to_json())]
    assert {type(copy) for copy in copies} == {RigidBodyModel}
