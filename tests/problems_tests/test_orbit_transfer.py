"""The orbit transfer against Pontryagin's principle, solved by shooting."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import problems
import trajopt

THRUST, BURN, DURATION = 0.1405, 0.0749, 3.32


def extremal(t, y):
    """x' = dH/dl, l' = -dH/dx with the thrust along (l_u, l_v), which maximizes H = l . f."""
    r, u, v, along_r, along_u, along_v = y
    a = THRUST / (1.0 - BURN * t) / np.hypot(along_u, along_v)
    return [
        u,
        v**2 / r - 1.0 / r**2 + a * along_u,
        -u * v / r + a * along_v,
        along_u * (v**2 / r**2 - 2.0 / r**3) - along_v * u * v / r**2,
        -along_r + along_v * v / r,
        -along_u * 2.0 * v / r + along_v * u / r,
    ]


def flown(adjoints):
    """The extremal from the first orbit with these adjoints at the start."""
    start = [1.0, 0.0, 1.0, *adjoints]
    return solve_ivp(
        extremal, (0.0, DURATION), start, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True
    )


def end_conditions(adjoints):
    """u = 0, v = r^(-1/2), and l_r of r + l_v (v - r^(-1/2)), the end's Lagrangian."""
    r, u, v, along_r, _, along_v = flown(adjoints).y[:, -1]
    return [u, v - r**-0.5, along_r - 1.0 - 0.5 * along_v * r**-1.5]


@pytest.fixture(scope="module")
def optimum():
    adjoints, _, found, message = fsolve(end_conditions, [1.9, 0.9, 2.0], xtol=1e-12, full_output=True)
    assert found == 1, message
    return flown(adjoints)


@pytest.mark.long
@pytest.mark.parametrize(
    ("intervals", "order", "error"), [(16, 5, 3e-9), (24, 5, 3e-10), (32, 5, 1e-10), (12, 8, 3e-10)]
)
def test_every_mesh_reaches_the_radius_of_pontryagins_principle(optimum, intervals, order, error):
    solution = trajopt.solve(problems.orbit_transfer.build(intervals=intervals, order=order))
    assert solution.converged and solution.verify().holds
    radius = optimum.y[0, -1]
    assert radius == pytest.approx(-problems.orbit_transfer.REFERENCE, abs=2e-11)
    assert -solution.objective == pytest.approx(radius, rel=error)
    assert f"{radius:.7f}" == "1.5252777"  # YAPSS


@pytest.mark.long
def test_the_thrust_points_along_the_adjoints_of_the_velocity_the_closer_the_finer_the_mesh(optimum):
    for intervals, state_error, thrust_error in ((16, 1e-5, 2e-2), (32, 1e-6, 1e-3), (64, 1e-8, 1e-4)):
        solution = trajopt.solve(problems.orbit_transfer.build(intervals=intervals))
        t = solution.node_times
        along = optimum.sol(t)[4:]
        thrust = [solution.value(trajopt.state(name), t)[..., 0] for name in ("radial", "tangential")]
        assert np.allclose(thrust, along / np.hypot(*along), rtol=0.0, atol=thrust_error)
        assert np.allclose(solution.q(t), optimum.sol(t)[:3].T, rtol=0.0, atol=state_error)
