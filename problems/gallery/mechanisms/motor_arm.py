"""An arm lifted by two geared motors with the least heat, while the hotter winding is kept cool.

    minimize integral_0^T R |i|^2 dt

    motors    tau = N k i                         (tau of the arm, two links in the vertical plane)
    currents  L i' = u - R i - N k v
    windings  C w' = R i^2 - (w - ambient) / Z

from rest to rest, with |u| and |i| bounded and w <= hottest. Currents and winding temperatures are further
states of the robot. What the motors take in is lifted, heats the windings, or stays in their inductances:

    integral u . i dt = E_arm(T) - E_arm(0) + integral R |i|^2 dt + (L / 2) (|i(T)|^2 - |i(0)|^2)
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 20.014883
REFERENCE_SOURCE = "finer meshes"


@recipe
def build(
    *,
    intervals: int = 20,
    order: int = 4,
    duration: float = 0.5,
    gear: float = 25.0,
    constant: float = 0.05,
    resistance: float = 0.4,
    inductance: float = 4e-3,
    heat_capacity: float = 1.0,
    thermal_resistance: float = 2.0,
    ambient: float = 20.0,
    hottest: float = 32.5,
    voltage: float = 48.0,
    current: float = 30.0,
    q_start: tuple[float, float] = (-0.5, 0.5),
    q_end: tuple[float, float] = (0.5, 1.0),
) -> trajopt.Problem:
    """One motor per joint: constant k in N m/A, heat capacity in J/K, thermal resistance in K/W, the rest in
    ohm, H, degrees Celsius, V, A, rad and s."""
    upper = dynamics.DhRow(name="shoulder", a=0.4, mass=3.0, centre_of_mass=(-0.2, 0.0, 0.0))
    lower = dynamics.DhRow(name="elbow", a=0.35, mass=1.5, centre_of_mass=(-0.15, 0.0, 0.0))
    arm = dynamics.from_dh([upper, lower], gravity=(0.0, -9.81, 0.0), name="motor_arm")

    def rates(node):
        losses = resistance * node.current**2
        return [
            (node.voltage - resistance * node.current - gear * constant * node.v) / inductance,
            (losses - (node.winding - ambient) / thermal_resistance) / heat_capacity,
        ]

    motors = trajopt.system(
        states={"current": 2, "winding": 2},
        controls={"voltage": 2},
        rates=rates,
        dynamics=arm,
        torques=lambda node: gear * constant * node.current,
        units={"current": "A", "winding": "degC", "voltage": "V"},
    )

    @trajopt.term(unit="W")
    def heat(node):
        """R i^2 of both windings, (2,) W."""
        return resistance * node.current**2

    breakpoints = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, intervals + 1)))
    mesh = trajopt.Trajectory.collocation(breakpoints, order, duration=duration)
    problem = trajopt.Problem(motors, mesh, name="motor_arm")
    problem.control("voltage", -voltage, voltage)
    problem.subject_to(trajopt.state("current"), -current, current)
    problem.subject_to(trajopt.state("winding"), upper=hottest)
    problem.start_at(q=q_start, v=0.0, x=[None, None, ambient, ambient])
    problem.end_at(q=q_end, v=0.0)
    problem.minimize(heat)
    return problem
