"""Derivatives of an optimum by its inputs, through NumPy, JAX and PyTorch, are those of differences."""

import numpy as np
import pytest

import trajopt

SOLVER = trajopt.Ipopt(tol=1e-11)
STEP = 1e-4
quiet_import = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def double_integrator():
    """A free duration, on which rates depend, and a control whose limit is active in a part of the motion."""
    cart = trajopt.system(("x", "v"), ("push",), lambda node: [node.v, node.push])
    problem = trajopt.Problem(cart, trajopt.Trajectory.collocation(3, duration=(0.1, 10.0)))
    problem.control("push", -1.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration, name="time")
    problem.minimize(trajopt.state("push") ** 2, weight=0.3, name="effort")
    return problem


def layer_of(**options):
    compiled = trajopt.compile(double_integrator(), solver=SOLVER)
    every = ("objective", "duration", "q", "v", "extra:push")
    return trajopt.layer(compiled, outputs=every, at=[0.0, 0.3, 0.77, 1.0], **options)


def values_of(layer):
    return {"weight_effort": 0.3, "x_end": np.array([1.0, 0.0])}


@pytest.mark.long
def test_jacobians_are_those_of_differences_of_solves():
    layer = layer_of()
    point = values_of(layer)
    optimum = layer(**point)
    for name, value in point.items():
        for i in range(np.size(value)):
            step = STEP * np.reshape(np.eye(np.size(value))[i], np.shape(value))
            high, low = (layer(**{**point, name: value + sign * step}).values for sign in (1, -1))
            for output, jacobian in optimum.jacobians.items():
                slope = (high[output] - low[output]) / (2.0 * STEP)
                mine = jacobian[name][..., i] if np.ndim(value) else jacobian[name]
                np.testing.assert_allclose(mine, slope, atol=2e-6, err_msg=f"{output} by {name}")


@quiet_import
@pytest.mark.long
def test_pullbacks_of_numpy_jax_and_torch_agree():
    layer = layer_of()
    point = values_of(layer)
    optimum = layer(**point)
    w = np.arange(8.0).reshape(4, 2)
    ours = optimum.pullback({"q": w, "duration": 2.0})
    torch = pytest.importorskip("torch")
    tensors = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in point.items()
    }
    found = layer.torch(**tensors)
    (2.0 * found["duration"] + (torch.tensor(w) * found["q"]).sum()).backward()
    for name, tensor in tensors.items():
        np.testing.assert_allclose(tensor.grad.numpy(), ours[name], rtol=1e-10)
    jax = pytest.importorskip("jax")

    def loss(given):
        out = layer.jax(**given)
        return 2.0 * out["duration"] + (w * out["q"]).sum()

    with jax.enable_x64(True):
        theirs = jax.jit(jax.grad(loss))({name: jax.numpy.asarray(value) for name, value in point.items()})
        for name in point:
            np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-10)


def test_mistakes_are_named():
    compiled = trajopt.compile(double_integrator(), solver=SOLVER)
    with pytest.raises(trajopt.TrajoptError, match="no input is called 'weight_effrot'"):
        trajopt.layer(compiled, ["weight_effrot"])
    with pytest.raises(trajopt.TrajoptError, match="no output is called 'tau'"):
        trajopt.layer(compiled, outputs=["tau"])
    with pytest.raises(trajopt.TrajoptError, match="normalised times from 0 to 2: expected 0 to 1"):
        trajopt.layer(compiled, at=[0.0, 2.0])
    with pytest.raises(trajopt.TrajoptError, match=r"compiled is .*: give trajopt.compile\(problem\)"):
        trajopt.layer(double_integrator())
    layer = trajopt.layer(compiled)
    with pytest.raises(trajopt.TrajoptError, match=r"x_end has shape \(3,\): expected \(2,\)"):
        layer(x_end=[1.0, 2.0, 3.0])
    with pytest.raises(trajopt.TrajoptError, match=r"no optimum was found .*start="):
        layer(duration=[0.1, 0.2])
