"""Functions of JAX, PyTorch and NumPy, models of MuJoCo and Pinocchio: optima of the built-in dynamics."""

import builtins
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import trajopt
from benchmarks.adapters import ENGINES, JOINTS, move, two_links
from trajopt.adapters import foreign_block, foreign_dynamics, mujoco_dynamics, pinocchio_dynamics
from trajopt.base.errors import EvaluationError, ProblemError, TrajoptError

quiet_import = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@quiet_import
@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_another_engine_gives_the_optimum_of_the_built_in_dynamics(engine):
    pytest.importorskip(engine)
    ours, theirs = (trajopt.solve(move(two_links(each))) for each in ("built-in", engine))
    assert theirs.converged
    np.testing.assert_allclose(theirs.objective, ours.objective, rtol=1e-8)
    np.testing.assert_allclose(theirs.q(0.4), ours.q(0.4), atol=1e-6)
    if engine == "pinocchio":  # the simulation by an engine takes 10 processor s
        assert theirs.verify().verdict == "PASS"


@quiet_import
@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_of_an_engine_that_has_no_joint_is_refused(engine):
    module = pytest.importorskip(engine)
    fixed = "<mujoco><worldbody><body><geom size='0.1'/></body></worldbody></mujoco>"
    make = {
        "mujoco": lambda: mujoco_dynamics(module.MjModel.from_xml_string(fixed)),
        "pinocchio": lambda: pinocchio_dynamics(module.Model()),
    }
    with pytest.raises(ProblemError, match="no joint of the model moves"):
        make[engine]()


def pendulum(q, v, a):
    return 0.3 * a + 0.1 * v + 2.0 * np.sin(q)


def pendulum_derivatives(q, v, a):
    return 2.0 * np.cos(q), 0.1, 0.3


@pytest.mark.parametrize("derivatives", [None, pendulum_derivatives])
def test_derivatives_of_a_numpy_function_are_given_or_differences(derivatives):
    swing = trajopt.adapters.foreign_dynamics(
        pendulum, ["hinge"], "numpy", derivatives=derivatives, torque=9.0
    )
    block = pickle.loads(pickle.dumps(swing)).block(("tau",))
    u = {name: np.array([[0.7], [-2.0]]) for name in "qva"}
    np.testing.assert_allclose(block.partials(u)["tau", "q"][:, 0], 2.0 * np.cos(u["q"]), atol=1e-11)
    curvature = block.curvature(u, {"tau": np.ones((2, 1))})
    np.testing.assert_allclose(curvature["q", "q"][:, 0], -2.0 * np.sin(u["q"]), atol=1e-7)
    tau = block.value(u)["tau"]
    np.testing.assert_allclose(swing.forward_dynamics(u["q"], u["v"], tau), u["a"], rtol=1e-10)
    assert swing.limits.torque_lower[0] == -9.0


def test_second_derivatives_of_a_numpy_function_of_several_arguments_are_differences():
    block = foreign_block(lambda x, u: [x[0] * u[0] ** 2, np.sin(x[0] * x[1])], {"x": 2, "u": 1}, "numpy")
    x, u = np.array([[0.7, -0.4], [1.5, 30.0]]), np.array([[2.0], [-0.5]])
    found = block.curvature({"x": x, "u": u}, {"rates": np.array([[1.0, 0.0], [0.5, 3.0]])})
    s, c = np.sin(45.0), np.cos(45.0)
    by_x = 3.0 * np.array([[-900.0 * s, c - 45.0 * s], [c - 45.0 * s, -2.25 * s]])
    np.testing.assert_allclose(found["x", "x"][0], 0.0, atol=1e-6)
    np.testing.assert_allclose(found["x", "x"][1], by_x, rtol=1e-3)
    np.testing.assert_allclose(found["x", "u"][:, 0, 0], [4.0, -0.5], atol=1e-5)
    np.testing.assert_allclose(found["u", "u"][:, 0, 0], [1.4, 1.5], atol=1e-5)


@pytest.mark.long
def test_a_numpy_function_is_a_dynamics():
    problem = trajopt.Problem(
        trajopt.adapters.foreign_dynamics(pendulum, ["hinge"], "numpy", torque=9.0),
        trajopt.Trajectory.uniform(6, 5, 1.0),
    )
    problem.start_at(q=[0.0], v=0.0)
    problem.end_at(q=[1.0], v=0.0)
    problem.minimize(trajopt.tau**2)
    assert trajopt.solve(problem).verify().verdict == "PASS"


@quiet_import
@pytest.mark.long
@pytest.mark.parametrize("library", ["jax", "torch", "numpy"])
def test_a_function_is_a_term(library):
    pytest.importorskip(library)
    power = trajopt.adapters.foreign_term(lambda tau, v: tau * v, library, name="power", unit="W")
    with_theirs, with_ours = move(two_links("built-in")), move(two_links("built-in"))
    with_theirs.subject_to(power, upper=8.0)
    with_ours.subject_to(trajopt.term(lambda node: node.tau * node.v, name="power"), upper=8.0)
    without = move(two_links("built-in"))
    theirs, ours, free = (trajopt.solve(p, refine=None, starts=1) for p in (with_theirs, with_ours, without))
    np.testing.assert_allclose(theirs.objective, ours.objective, rtol=1e-8)
    assert ours.objective > free.objective + 1e-3


@quiet_import
@pytest.mark.long
@pytest.mark.parametrize("library", ["jax", "torch", "numpy"])
def test_a_function_is_the_rates_of_a_system(library):
    pytest.importorskip(library)
    rates = trajopt.adapters.foreign_block(lambda x, u: [x[1], u[0]], {"x": 2, "u": 1}, library)
    cart = trajopt.system(("x", "v"), ("push",), rates)
    problem = trajopt.Problem(cart, trajopt.Trajectory.collocation(4, duration=(0.1, 10.0)))
    problem.control("push", -1.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    assert trajopt.solve(problem).duration == pytest.approx(2.0, abs=1e-6)


@quiet_import
@pytest.mark.long  # imports of the libraries
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda jnp: lambda q: jnp.sin(q) if q[0] > 0 else q, "branches on a value.*jnp.where"),
        (lambda jnp: lambda q: np.sin(q), "use jax.numpy throughout"),
        (lambda jnp: lambda q: float(q[0]), "use jax.numpy throughout"),
        (lambda jnp: lambda q: q.astype("float32"), "gives float32.*float64"),
        (lambda jnp: lambda q: q > 0, "gives bool.*return floating-point numbers"),
        (lambda jnp: lambda q: q[2] + q[0], r"(?s)index 2 is out of bounds.*size 2.*nearest component"),
        (lambda jnp: lambda q: q * jnp.take(q, -3), "index -1 is out of bounds.*size 2"),
        (lambda jnp: lambda q: jnp.ones((3, 3)) @ q, r"failed as it was called with q \(2,\): TypeError"),
    ],
)
def test_mistakes_in_functions_of_jax_are_named(function, message):
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(trajopt.TrajoptError, match=message):
        trajopt.adapters.foreign_block(function(jnp), {"q": 2}, "jax")


@quiet_import
@pytest.mark.long  # imports of the library
def test_indices_of_jax_that_are_computed_may_leave_a_table():
    jnp = pytest.importorskip("jax.numpy")
    table = np.arange(3.0)
    held = foreign_block(lambda q: jnp.asarray(table)[jnp.int32(70.0 * q)], {"q": 2}, "jax")
    assert held.value({"q": np.array([[0.0, 1.0]])})["rates"].tolist() == [[0.0, 2.0]]


@quiet_import
@pytest.mark.long  # imports of the library
@pytest.mark.parametrize(
    "function",
    [
        lambda jnp: lambda q: jnp.arange(3.0)[jnp.searchsorted(jnp.array([0.0, 0.1, 0.2]), q)],
        lambda jnp: lambda q: jnp.arange(3.0)[jnp.searchsorted(jnp.array([0.0, 0.1, 0.2]), q @ q)],
        lambda jnp: lambda q: jnp.diff(jnp.take(q, jnp.arange(-1, 3), mode="clip")),
        lambda jnp: lambda q: q.at[jnp.arange(1, 3)].get(mode="fill", fill_value=0.0) - q,
    ],
)
def test_tables_of_jax_beyond_their_ends_and_stated_modes_are_no_mistakes(function):
    jnp = pytest.importorskip("jax.numpy")
    block = trajopt.adapters.foreign_block(function(jnp), {"q": 2}, "jax")
    assert np.isfinite(block.value({"q": np.array([[0.05, 0.15]])})["rates"]).all()


@quiet_import
@pytest.mark.long  # imports of the libraries
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda torch: lambda q: q if q[0] > 0 else -q, "branches on a value.*torch.where"),
        (lambda torch: lambda q: torch.as_tensor(q[0].item()), "no .item"),
        (lambda torch: lambda q: torch.tensor(np.sin(q.numpy())), "no .item.*function of NumPy"),
        (lambda torch: lambda q: torch.ones(2, 2) @ q, "mixes float64.*module.double"),
        (lambda torch: torch.nn.Linear(2, 1), "mixes float64.*module.double"),
        (lambda torch: lambda q: q.float(), "gives float32.*dtype=torch.float64"),
    ],
)
def test_mistakes_in_functions_of_torch_are_named(function, message):
    torch = pytest.importorskip("torch")
    with pytest.raises(trajopt.TrajoptError, match=message):
        trajopt.adapters.foreign_block(function(torch), {"q": 2}, "torch")


def test_mistakes_in_functions_of_any_library_are_named():
    with pytest.raises(trajopt.TrajoptError, match="library = 'tensorflow': expected 'jax' or 'torch'"):
        trajopt.adapters.foreign_term(pendulum, "tensorflow")
    with pytest.raises(trajopt.TrajoptError, match="do not name its quantities"):
        trajopt.adapters.foreign_term(lambda *both: both[0], "numpy")
    with pytest.raises(trajopt.TrajoptError, match="gives 1 torques for 2 joints"):
        trajopt.adapters.foreign_dynamics(lambda q, v, a: q[0], JOINTS, "numpy").block(("tau",))
    with pytest.raises(trajopt.TrajoptError, match=r"computes tau alone, no wrench:upper.*foreign_term"):
        trajopt.adapters.foreign_dynamics(pendulum, JOINTS, "numpy").block(("wrench:upper",))
    with pytest.raises(trajopt.TrajoptError, match=r"shape \(3,\): give a number, or \(2,\)"):
        trajopt.adapters.foreign_dynamics(pendulum, JOINTS, "numpy", torque=[1.0, 2.0, 3.0])
    inputs = {"q": 1, "v": 1, "a": 1}
    wrong = trajopt.adapters.foreign_block(pendulum, inputs, "numpy", derivatives=lambda q, v, a: np.eye(2))
    with pytest.raises(trajopt.TrajoptError, match="give one matrix"):
        wrong.partials({name: np.ones((1, 1)) for name in inputs})


@quiet_import
@pytest.mark.long
def test_a_function_that_stops_derivatives_or_changes_tensors_is_named():
    pytest.importorskip("torch")
    stopped = foreign_dynamics(lambda q, v, a: (a + q).detach(), ["upper", "lower"], "torch")
    with pytest.raises(TrajoptError, match=r"is 0, but central.*detach, no_grad"):
        trajopt.solve(move(stopped))
    changed = foreign_block(lambda q: q.add_(1.0), {"q": 2}, "torch")
    with pytest.raises(TrajoptError, match="changes a tensor in place"):
        changed.partials({"q": np.ones((1, 2))})


def test_a_library_that_is_missing_is_named(monkeypatch):
    of_python = builtins.__import__

    def refuse(name, *rest, **others):
        if name in ("jax", "torch", "mujoco", "pinocchio"):
            raise ImportError(name)
        return of_python(name, *rest, **others)

    monkeypatch.setattr("trajopt.adapters.stacked_function.import_module", refuse)
    for library in ("jax", "torch"):
        with pytest.raises(trajopt.TrajoptError, match=rf"pip install 'trajopt-splines\[{library}\]'"):
            trajopt.adapters.foreign_block(lambda q: 2 * q, {"q": 1}, library)
    with pytest.raises(trajopt.TrajoptError, match=r"pip install 'trajopt-splines\[mujoco\]'"):
        trajopt.adapters.mujoco_dynamics(None)
    with pytest.raises(trajopt.TrajoptError, match=r"pip install 'trajopt-splines\[pinocchio\]'"):
        trajopt.adapters.pinocchio_dynamics(None)


def test_models_that_a_spline_of_joints_cannot_hold_are_refused():
    mujoco = pytest.importorskip("mujoco")
    free = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(trajopt.TrajoptError, match=r"7 positions for 6 velocities.*dynamics.from_mujoco"):
        trajopt.adapters.mujoco_dynamics(free)
    with pytest.raises(trajopt.TrajoptError, match=r"the model is a str: give mujoco.MjModel"):
        trajopt.adapters.mujoco_dynamics("arm.xml")


@dataclass
class Spring:
    """A function that no table of compiled functions can look up, as it has no hash."""

    stiffness: float

    def __call__(self, x, u):
        return np.array([x[1], u[0] - self.stiffness * x[0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: foreign_block(Spring(2.0), {"x": 2, "u": 1}, "numpy"), "make its class a frozen dataclass"),
        (
            lambda: foreign_block(lambda x: x, {"x": 2, "u": 1}, "numpy"),
            r"with x \(2,\), u \(1,\): TypeError",
        ),
        (lambda: foreign_block(lambda x: x > 0, {"x": 2}, "numpy"), "gives bool, whose derivatives are zero"),
        (lambda: foreign_block(np.sin, ["x"], "numpy"), r"the inputs are \['x'\]: give widths by names"),
        (lambda: foreign_block(np.sin, {}, "numpy"), "the inputs are {}"),
        (lambda: foreign_block(np.sin, {"x": 0}, "numpy"), "the width of 'x' = 0: expected a whole number"),
        (lambda: foreign_dynamics(np.add, ["a", "a"], "numpy"), "the joints are a, a: give at least one"),
        (lambda: foreign_dynamics(np.add, [], "numpy"), "the joints are none"),
        (lambda: foreign_dynamics(np.add, ["a"], "numpy", torque=-1.0), "limit torque_upper is -1: give its"),
        (lambda: foreign_dynamics(np.add, ["a"], "numpy", velocity=np.nan), "the limit velocity is NaN"),
    ],
)
def test_wrong_arguments_of_foreign_functions_are_named(call, message):
    with pytest.raises(TrajoptError, match=message):
        call()


def test_one_name_is_a_list_of_one():
    assert foreign_dynamics(np.add, "hinge", "numpy").joint_names == ("hinge",)
    assert trajopt.adapters.foreign_term(np.sin, "numpy", inputs="tau").inputs == ("tau",)


def test_torques_that_no_acceleration_changes_have_none():
    weightless = foreign_dynamics(lambda q, v, a: q + 0.0 * a, ["hinge"], "numpy")
    zero, one = np.zeros((3, 1)), np.ones((3, 1))
    with pytest.raises(EvaluationError, match="one-to-one in a"):
        weightless.forward_dynamics(zero, zero, one)
