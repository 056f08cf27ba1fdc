"""Wrong objects given to public functions of `dynamics`: a DynamicsError that names the argument."""

import datetime
import decimal
import fractions
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from tiers import every
from urdf_text import joint, link, robot

import dynamics
from dynamics.arguments import list_names, names_of, number_array, real_array, short_repr

ARM = dynamics.load_urdf(
    robot(
        link("base", ""),
        link("upper"),
        link("lower"),
        joint("shoulder", "base", "upper"),
        joint("elbow", "upper", "lower", content='<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>'),
    )
)
RIGHT = np.array([0.1, 0.2])
# functions of a RigidBodyModel, and how many arrays (n,) they take after it; from_mujoco takes another model
OF_A_MODEL = {
    name: sum(parameter in ("q", "v", "a", "tau", "w", "adjoint") for parameter in parameters)
    for name in dynamics.__all__
    if name != "from_mujoco"
    and inspect.isfunction(function := getattr(dynamics, name))
    and next(iter(parameters := inspect.signature(function).parameters)) == "model"
}
NAMED = {
    "armature_error": {"trajectory": (np.zeros((2, 2)),) * 3},
    "frame_jacobian": {"frame": "lower"},
    "frame_velocity": {"frame": "lower"},
    "joint_springs": {"stiffness": 1.0},
    "regressor_gradient": {"weights": np.zeros((2, len(dynamics.dynamic_parameter_names(ARM))))},
    "with_dynamic_parameters": {"values": np.zeros(len(dynamics.dynamic_parameter_names(ARM)))},
    "point_spring": {"start": "upper", "end": "lower", "stiffness": 1.0},
}
NO_NUMBERS = {
    "text": "0.1",
    "a list of text": ["0.1", "0.2"],
    "None": None,
    "None inside": [0.1, None],
    "bytes": b"ab",
    "an object": object(),
    "a function": len,
    "ragged lists": [[0.1], [0.1, 0.2]],
    "a dictionary": {"shoulder": 0.1},
    "a set": {0.1, 0.2},
    "a masked array": np.ma.masked_array([0.1, 0.2], mask=[False, True]),
    "dates": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    "time differences": np.array([1, 2], dtype="timedelta64[s]"),
    "a date": datetime.date(2024, 1, 1),
    "records": np.zeros(2, dtype=[("x", float)]),
    "a number too large": [10**400, 1],
}


def call(name, *arrays, model=ARM, **changed):
    return getattr(dynamics, name)(model, *arrays, **(NAMED.get(name, {}) | changed))


def test_the_table_of_functions_holds_those_of_a_model():
    assert {"rnea", "crba", "aba", "frame_jacobian", "christoffel_symbols_serial"} <= OF_A_MODEL.keys()
    assert OF_A_MODEL["rnea"] == 3 and OF_A_MODEL["rnea_second_derivatives"] == 4


@every("wrong", [None, 5, "arm", np.zeros(2), dynamics.RigidBodyModel, [ARM]])
@every("name", OF_A_MODEL)
def test_a_model_that_is_none_is_named(name, wrong):
    with pytest.raises(dynamics.DynamicsError, match="give a RigidBodyModel"):
        call(name, *[RIGHT] * OF_A_MODEL[name], model=wrong)


def test_what_holds_a_model_is_no_model_itself():
    with pytest.raises(dynamics.DynamicsError, match="a SimpleNamespace; give its `model`"):
        dynamics.crba(SimpleNamespace(model=ARM), np.zeros(ARM.n))


@every("wrong", NO_NUMBERS.values())
@every("name", [name for name, count in OF_A_MODEL.items() if count])
def test_an_argument_that_is_no_array_of_numbers_is_named(name, wrong):
    count = OF_A_MODEL[name]
    for place in range(count):
        arrays = [wrong if i == place else RIGHT for i in range(count)]
        with pytest.raises(dynamics.ShapeError, match=r"^(q|v|a|w|tau|adjoint) (is|has)"):
            call(name, *arrays)


@every("wrong", [5, b"lower", ["lower"], np.array(["lower"]), None, ("q", "v")])
@every("argument", ["frame", "start", "end"])
def test_a_name_that_is_none_is_an_unknown_name(argument, wrong):
    name = "frame_jacobian" if argument == "frame" else "point_spring"
    with pytest.raises(dynamics.UnknownNameError, match="no link or frame"):
        call(name, RIGHT, **{argument: wrong})


@pytest.mark.parametrize(
    ("name", "argument"), [("forward_kinematics", "frames"), ("external_derivatives", "links")]
)
def test_lists_of_names_hold_names(name, argument):
    with pytest.raises(dynamics.UnknownNameError, match=f"{argument} is 5; give a name or a list"):
        call(name, RIGHT, **{argument: 5})
    with pytest.raises(dynamics.UnknownNameError, match=f"{argument} holds 3; give names"):
        call(name, RIGHT, **{argument: ["upper", 3]})


@pytest.mark.parametrize("wrong", [None, "x", np.inf, [1.0, 2.0]], ids=str)
def test_single_numbers_are_numbers(wrong):
    with pytest.raises(dynamics.DynamicsError, match="smoothing"):
        dynamics.friction(ARM, RIGHT, smoothing=wrong)
    with pytest.raises(dynamics.DynamicsError, match="stiffness"):
        call("point_spring", RIGHT, stiffness=wrong)
    with pytest.raises(dynamics.JointError, match="the limit torque"):
        dynamics.JointLimits.symmetric(torque=wrong if wrong != np.inf else np.nan)


@pytest.mark.parametrize("threads", [0, 1.5, True, None, 10**9])
def test_threads_are_a_number_that_a_machine_has(threads):
    with pytest.raises(dynamics.DynamicsError, match=r"threads is .*from 1 to 1024"):
        dynamics.in_threads(dynamics.crba, ARM, RIGHT[None], threads=threads)


def test_threads_need_a_function_and_arrays():
    with pytest.raises(dynamics.DynamicsError, match="the function is 5"):
        dynamics.in_threads(5, ARM, RIGHT[None])
    with pytest.raises(dynamics.ShapeError, match="no array is given"):
        dynamics.in_threads(dynamics.crba, ARM)


@pytest.mark.parametrize("wrong", [5, None, "abc"])
def test_tables_and_parts_of_models_are_lists_of_their_kind(wrong):
    with pytest.raises(dynamics.DhError):
        dynamics.from_dh(wrong)
    with pytest.raises(dynamics.ModelError, match="bodies"):
        dynamics.RigidBodyModel(wrong)
    with pytest.raises(dynamics.ModelError, match="frames"):
        dynamics.RigidBodyModel(ARM.bodies, frames=wrong)
    with pytest.raises(dynamics.UnknownNameError):
        ARM.block(wrong)


def test_the_samples_of_a_motion_fit_the_model():
    with pytest.raises(dynamics.ShapeError, match="v of the trajectory"):
        dynamics.armature_error(ARM, (np.zeros((4, 2)), None, np.zeros((4, 2))))
    with pytest.raises(dynamics.ShapeError, match=r"\(samples, 2\) each, at least one"):
        dynamics.armature_error(ARM, (np.zeros((0, 2)),) * 3)


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        (True, 0),
        np.float32([0.5, 0.25]),
        [decimal.Decimal("0.5"), fractions.Fraction(1, 4)],
        range(2),
    ],
    ids=str,
)
def test_whatever_is_a_number_is_taken_as_it_is(given):
    assert real_array(given, "q").dtype == float
    np.testing.assert_array_equal(real_array(given, "q"), [float(x) for x in given])


def test_complex_numbers_pass_for_derivatives_by_complex_step_only():
    assert number_array([1j], "q").dtype == complex
    with pytest.raises(dynamics.ShapeError, match="give real numbers"):
        real_array([1j], "q")


class Hostile:
    """An object whose every conversion raises something else."""

    def __repr__(self):
        raise RuntimeError("no")

    def __array__(self, *_, **__):
        raise KeyError("no")


def test_objects_that_raise_on_being_looked_at_are_described_by_their_type():
    assert short_repr(Hostile()) == "an object of type Hostile"
    with pytest.raises(dynamics.ShapeError, match="q is an object of type Hostile"):
        dynamics.crba(ARM, Hostile())
    with pytest.raises(dynamics.ShapeError, match="q is an object of type list"):
        dynamics.crba(ARM, [Hostile(), 1.0])


def test_what_messages_show_is_cut():
    assert len(short_repr("x" * 10**6)) == 80
    assert list_names(range(8)) == "0, 1, 2, 3, 4, 5 and 2 more" and list_names([]) == "none"
    assert names_of("a", "frames") == ("a",)
    with pytest.raises(dynamics.ShapeError) as caught:
        dynamics.crba(ARM, ["x" * 10**6])
    assert len(str(caught.value)) < 300
