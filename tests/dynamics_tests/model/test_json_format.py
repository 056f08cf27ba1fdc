"""A saved model comes back bit for bit, and what is no saved model is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from tiers import every

from dynamics import (
    Body,
    Frame,
    InertiaError,
    Joint,
    JointLimits,
    JsonError,
    RigidBodyModel,
    Rotor,
    ShapeError,
    TreeError,
    load_urdf,
)

ROBOTS = sorted((Path(__file__).parents[2] / "support" / "robots").glob("*.urdf"))


def awkward_model():
    """Numbers that no short decimal represents, every optional part present."""
    generator = np.random.default_rng(5)
    rotation = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    rotation *= np.linalg.det(rotation)
    rotor = Rotor(100 / 3, 0.1, np.diag([1, 1, 1]) / 3e3, generator.normal(size=3), generator.normal(size=3))
    limits = JointLimits(-1 / 3, np.inf, 1 / 7, -np.inf, 2 / 3)
    first = Joint(
        "first",
        "prismatic",
        generator.normal(size=3),
        rotation,
        generator.normal(size=3),
        limits,
        rotor=rotor,
    )
    second = Joint("second", mimics="first", ratio=-1 / 3, offset=0.1, damping=0.3, friction=1e-300)
    matter = {"mass": 1 / 3, "centre_of_mass": generator.normal(size=3), "inertia": np.diag([1, 1, 1]) / 7}
    bodies = (Body("one", first, None, **matter), Body("two", second, "one", **matter))
    frames = (Frame("tool", "two", rotation, (1 / 3, 0, 0)), Frame("mark"))
    return RigidBodyModel(bodies, (0, -9.80665, 1 / 3), "awkward", "armature", frames)


def numbers(value):
    """Every number of a nested structure, in order."""
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from numbers(entry)
    elif isinstance(value, float):
        yield value.hex()


def test_every_float_of_an_awkward_model_comes_back_bit_for_bit():
    model = awkward_model()
    back = RigidBodyModel.from_json(model.to_json())
    assert back.to_json() == model.to_json()
    joint, same = model.bodies[0].joint, back.bodies[0].joint
    for field in ("axis", "rotation", "position"):
        assert getattr(joint, field).tobytes() == getattr(same, field).tobytes()
    assert joint.rotor.axis.tobytes() == same.rotor.axis.tobytes()
    assert joint.limits == same.limits
    assert (back.rotors, back.name, back.frame_names) == ("armature", "awkward", ("tool", "mark"))
    assert back.gravity.tolist() == [0, -9.80665, 1 / 3]


@every("path", ROBOTS, fast=4)
def test_real_robots_come_back_bit_for_bit(path):
    text = load_urdf(path).to_json()
    back = RigidBodyModel.from_json(text).to_json()
    assert list(numbers(json.loads(text))) == list(numbers(json.loads(back)))
    assert text == back


def test_the_text_is_strict_json_without_infinities():
    def refuse(name):
        raise AssertionError(name)

    content = json.loads(awkward_model().to_json(), parse_constant=refuse)
    assert "q_upper" not in content["bodies"][0]["joint"]["limits"]


def edited(edit):
    content = json.loads(awkward_model().to_json())
    edit(content)
    return json.dumps(content)


@every(
    "text, error, message",
    [
        ("", JsonError, "this is not JSON text"),
        ("{", JsonError, "this is not JSON text"),
        (7, JsonError, "this is not JSON text"),
        ("[" * 100_000, JsonError, "this is not JSON text"),
        ("[]", JsonError, 'this is not a saved model; the key "format" must be "rigid-body model"'),
        ('{"format": "a spline"}', JsonError, "this is not a saved model"),
        (edited(lambda c: c.update(version=9)), JsonError, "has version 9, this program reads version 1"),
        (edited(lambda c: c.update(colour=9)), JsonError, "the model has the unknown key 'colour'"),
        (edited(lambda c: c.pop("bodies")), JsonError, "the model lacks the key 'bodies'"),
        (edited(lambda c: c.update(bodies=3)), JsonError, "the model: bodies is int; a list is expected"),
        (
            edited(lambda c: c.update(bodies=[3])),
            JsonError,
            r"bodies\[0\] is int; an object with the keys of Body",
        ),
        (edited(lambda c: c["bodies"][1].pop("joint")), JsonError, r"bodies\[1\] lacks the key 'joint'"),
        (
            edited(lambda c: c["bodies"][0]["joint"]["rotor"].pop("gear_ratio")),
            JsonError,
            r"bodies\[0\]: joint: rotor lacks the key 'gear_ratio'",
        ),
        (edited(lambda c: c["bodies"][0].update(mass="x")), ShapeError, "body 'one': mass is 'x'"),
        (edited(lambda c: c["bodies"][0].update(mass=None)), ShapeError, "body 'one': mass"),
        (edited(lambda c: c["bodies"][0].update(mass=-1)), InertiaError, "body 'one': mass is -1.0 kg"),
        (edited(lambda c: c["bodies"][1].update(parent="x")), TreeError, "unknown parent 'x'"),
        (
            edited(lambda c: c["bodies"][1].update(mass=float("nan"))),
            JsonError,
            "NaN is no number of a model",
        ),
    ],
)
def test_a_text_that_is_no_saved_model_is_refused(text, error, message):
    with pytest.raises(error, match=message):
        RigidBodyModel.from_json(text)
