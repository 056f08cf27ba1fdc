"""Aircraft: the F-4's climb in least time, the F-8's recovery from a stall, soaring in a wind gradient."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
DEGREE = np.pi / 180.0

# Tables of the F-4 (Bryson, Desai and Hoffman, J. Aircraft 6, 1969, as in PSOPT): thrust in pounds, a row
# for each Mach number.
MACH = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)
HEIGHT = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0)  # 10,000 ft
THRUST = 100.0 * np.array(
    [
        (242, 240, 203, 173, 145, 122, 102, 57, 34, 1),
        (280, 246, 211, 181, 152, 128, 107, 65, 39, 2),
        (283, 252, 219, 187, 159, 134, 112, 73, 44, 4),
        (308, 272, 238, 205, 173, 147, 123, 81, 49, 8),
        (345, 303, 266, 232, 198, 168, 141, 94, 56, 11),
        (379, 343, 304, 268, 233, 198, 168, 112, 68, 14),
        (361, 380, 349, 313, 273, 236, 201, 134, 83, 17),
        (343, 366, 385, 361, 316, 281, 242, 162, 100, 22),
        (325, 352, 421, 387, 357, 320, 281, 193, 119, 29),
        (307, 338, 457, 413, 398, 346, 311, 217, 133, 31),
    ]
)
MACH_OF_DRAG = (0.0, 0.4, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8)
LIFT_SLOPE = (3.44, 3.44, 3.44, 3.58, 4.44, 3.44, 3.01, 2.86, 2.44)
DRAG = (0.013, 0.013, 0.013, 0.014, 0.031, 0.041, 0.039, 0.036, 0.035)
INDUCED = (0.54, 0.54, 0.54, 0.75, 0.79, 0.78, 0.89, 0.93, 0.93)


def spline(name: str, values: Any) -> casadi.Function:
    """A cubic spline of Mach through a table."""
    return casadi.interpolant(name, "bspline", [MACH_OF_DRAG], values)


LIFT_TABLE, DRAG_TABLE, INDUCED_TABLE = (
    spline(name, values) for name, values in (("lift", LIFT_SLOPE), ("drag", DRAG), ("induced", INDUCED))
)
THRUST_TABLE = casadi.interpolant("thrust", "bspline", [MACH, HEIGHT], THRUST.ravel("F"))


def climb(intervals: int) -> trajopt.Problem:
    """Climb from Mach 0.38 at sea level to Mach 1 at 65,600 ft; scaled US units. Bryson et al., 1969."""
    gravity, area, radius, mu = 32.174, 530.0, 20902900.0, 0.14076539e17

    def air(height: Any) -> tuple[Any, Any]:
        """Density in slug/ft^3 and speed of sound in ft/s of the US standard atmosphere of 1976."""
        kilometres = height * 0.3048 / 1000.0
        geopotential = 6356.766 * kilometres / (6356.766 + kilometres)
        low, middle = geopotential < 11.0, geopotential < 20.0
        temperature = casadi.if_else(
            low, 288.15 - 6.5 * geopotential, casadi.if_else(middle, 216.65, 196.65 + geopotential)
        )
        pressure = casadi.if_else(
            low,
            (288.15 / (288.15 - 6.5 * geopotential)) ** (-5.2559),
            casadi.if_else(
                middle,
                0.2233611 * casadi.exp(-34.163195 * (geopotential - 11.0) / 216.65),
                0.05403295 * (216.65 / temperature) ** 34.163195,
            ),
        )
        density = 1.22521 * pressure / (temperature / 288.15) * 0.062427960841 / 32.174049
        return density, 20.0468 * casadi.sqrt(temperature) / 0.3048

    def rates(node: Any) -> list[Any]:
        height, speed = 1e4 * node.height, 1e3 * node.speed
        density, sound = air(height)
        mach = speed / sound
        thrust = THRUST_TABLE(casadi.vertcat(mach, node.height))
        slope, weight = LIFT_TABLE(mach), 42000.0 * node.weight
        pressure = 0.5 * density * speed**2 * area
        drag = pressure * (DRAG_TABLE(mach) + INDUCED_TABLE(mach) * slope * node.attack**2)
        lift, mass, from_centre = pressure * slope * node.attack, weight / gravity, radius + height
        along = (thrust * np.cos(node.attack) - drag) / mass - mu / from_centre**2 * np.sin(node.angle)
        across = (thrust * np.sin(node.attack) + lift) / (mass * speed)
        bending = np.cos(node.angle) * (speed / from_centre - mu / (speed * from_centre**2))
        return [
            speed * np.sin(node.angle) / 1e4,
            along / 1e3,
            across + bending,
            -thrust / 1600.0 / 42000.0,
        ]

    system = trajopt.system(("height", "speed", "angle", "weight"), ("attack",), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(200.0, 500.0)))
    problem.control("attack", -20.0 * DEGREE, 20.0 * DEGREE)
    start = [0.0, 0.42426, 0.0, 1.0]
    problem.start_at(x=start)
    problem.end_at(x=[6.56, 0.968148, 0.0, None])
    problem.subject_to(state("height"), 0.0, 6.9)
    problem.subject_to(state("speed"), 0.001, 2.0)
    problem.subject_to(state("angle"), -89.0 * DEGREE, 89.0 * DEGREE)
    problem.guess([start, [6.56, 0.968148, 0.0, 0.8]], duration=350.0)
    problem.minimize(trajopt.duration)
    return problem


def f8(intervals: int) -> trajopt.Problem:
    """Least time from an angle of attack of 0.4655 rad to rest. Kaya and Noakes, JOTA 117 (2003)."""

    def rates(node: Any) -> list[Any]:
        a, b, c, w = node.attack, node.pitch, node.pitching, node.elevator
        return [
            (-0.877 * a + c - 0.088 * a * c + 0.47 * a * a - 0.019 * b * b - a * a * c + 3.846 * a**3)
            + (-0.215 * w + 0.28 * a * a * w + 0.47 * a * w * w + 0.63 * w**3),
            c,
            (-4.208 * a - 0.396 * c - 0.47 * a * a - 3.564 * a**3)
            + (-20.967 * w + 6.265 * a * a * w + 46.0 * a * w * w + 61.4 * w**3),
        ]

    system = trajopt.system(("attack", "pitch", "pitching"), ("elevator",), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(1.0, 8.0)))
    problem.control("elevator", -0.05236, 0.05236)
    problem.start_at(x=[0.4655, 0.0, 0.0])
    problem.end_at(x=[0.0, 0.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


def soaring(intervals: int) -> trajopt.Phases:
    """The least gradient of wind that a loop needs; feet. Zhao, Optim. Control Appl. Methods 25 (2004)."""
    mass, area, gravity, density, drag_at_zero, induced = 5.6, 45.09703, 32.2, 0.002378, 0.00873, 0.045

    def rates(node: Any) -> list[Any]:
        gradient = node.parameter("gradient")
        pressure = 0.5 * density * area * node.speed**2
        lift, drag = pressure * node.lift, pressure * (drag_at_zero + induced * node.lift**2)
        sine, cosine = np.sin(node.climb), np.cos(node.climb)
        gust = gradient * node.speed * sine
        return [
            node.speed * cosine * np.sin(node.heading) + gradient * node.z,
            node.speed * cosine * np.cos(node.heading),
            node.speed * sine,
            -drag / mass - gravity * sine - gust * np.sin(node.heading) * cosine,
            (lift * np.cos(node.bank) - mass * gravity * cosine + mass * gust * np.sin(node.heading) * sine)
            / (mass * node.speed),
            (lift * np.sin(node.bank) - mass * gust * np.cos(node.heading)) / (mass * node.speed * cosine),
        ]

    def load(node: Any) -> Any:
        return 0.5 * density * area * node.speed**2 * node.lift / (mass * gravity)

    def loop(s: np.ndarray) -> np.ndarray:
        turn = 2.0 * np.pi * s
        position = (500.0 * np.cos(turn) - 500.0, 300.0 * np.sin(turn), 400.0 - 400.0 * np.cos(turn))
        motion = (100.0 * (1.5 + np.cos(turn)), np.pi / 6.0 * np.sin(turn), -np.pi / 2.0 - turn)
        return np.stack([*position, *motion], axis=-1)

    system = trajopt.system(("x", "y", "z", "speed", "climb", "heading"), ("lift", "bank"), rates)
    problem = trajopt.Problem(system, radau(intervals, 4, (1.0, 30.0)))
    gradient = problem.parameter("gradient", 0.005, 0.15, guess=0.08)
    problem.control("lift", -0.5, 1.5, guess=0.5)
    problem.control("bank", -75.0 * DEGREE, 75.0 * DEGREE, guess=-0.5)
    problem.start_at(x=[0.0, 0.0, 0.0, None, None, None])
    problem.end_at(x=[0.0, 0.0, 0.0, None, None, None])
    problem.subject_to(state("z"), 0.0, 1000.0)
    problem.subject_to(state("speed"), 10.0, 350.0)
    problem.subject_to(state("climb"), -75.0 * DEGREE, 75.0 * DEGREE)
    problem.subject_to(named("load factor", load), -2.0, 5.0)
    problem.guess(x=loop, duration=24.0)
    problem.minimize(gradient)
    cycle = trajopt.Phases(problem)
    cycle.link(
        lambda a, b: [a.speed - b.speed, a.climb - b.climb, a.heading - b.heading + 2.0 * np.pi],
        problem.at("end"),
        problem.at("start"),
        name="cycle",
    )
    return cycle


def glider(intervals: int) -> trajopt.Problem:
    """A hang glider flies farthest through a thermal. Bulirsch et al. (1993); COPS 3, problem 8."""
    mass, area, density = 100.0, 14.0, 1.13

    def rates(node: Any) -> list[Any]:
        place = (node.x / 100.0 - 2.5) ** 2
        sinking = node.vy - 2.5 * (1.0 - place) * np.exp(-place)
        pressure = 0.5 * density * area * np.sqrt(node.vx**2 + sinking**2)
        lift, drag = pressure * node.lift, pressure * (0.034 + 0.069662 * node.lift**2)
        return [
            node.vx,
            node.vy,
            (-lift * sinking - drag * node.vx) / mass,
            (lift * node.vx - drag * sinking) / mass - 9.81,
        ]

    system = trajopt.system(("x", "y", "vx", "vy"), ("lift",), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(0.1, 200.0)))
    problem.control("lift", 0.0, 1.4)
    problem.start_at(x=[0.0, 1000.0, 13.23, -1.288])
    problem.end_at(x=[None, 900.0, 13.23, -1.288])
    problem.guess([[0.0, 1000.0, 13.23, -1.288], [1250.0, 900.0, 13.23, -1.288]], duration=105.0)
    problem.minimize(-state("x"), over="end")
    return problem


PROBLEMS = (
    PublishedProblem("F-4, climb in least time", lambda: climb(20), 319.98, "SLSQP on this mesh"),
    PublishedProblem("F-8, least time", lambda: f8(30), 3.78086, "Kaya and Noakes"),
    PublishedProblem("hang glider", lambda: glider(40), -1248.03, "Bulirsch et al."),
    PublishedProblem("dynamic soaring", lambda: soaring(20), 0.06, "Zhao, other model", lambda: soaring(40)),
)
