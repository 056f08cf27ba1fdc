"""Spacecraft: a re-entry, a reorientation, a free-flying robot, a launch in four stages, a spiral."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
DEGREE = np.pi / 180.0


def apollo(intervals: int) -> trajopt.Problem:
    """Re-entry with least heating; speeds in 1e5 ft/s. Stoer and Bulirsch, Numerical Analysis, 7.3.7."""
    radius, decay, gravity, area_by_mass, density = 209.0, 4.26, 3.2172e-4, 53200.0, 2.704e-3

    def rates(node: Any) -> list[Any]:
        air = 0.5 * area_by_mass * density * np.exp(-decay * radius * node.height) * node.speed
        drag, lift = 1.174 - 0.9 * np.cos(node.attack), 0.6 * np.sin(node.attack)
        from_centre = 1.0 + node.height
        sine, cosine = np.sin(node.angle), np.cos(node.angle)
        return [
            -air * node.speed * drag - gravity * sine / from_centre**2,
            air * lift
            + node.speed * cosine / (radius * from_centre)
            - gravity * cosine / (node.speed * from_centre**2),
            node.speed * sine / radius,
        ]

    def heating(node: Any) -> Any:
        return 10.0 * node.speed**3 * np.sqrt(density * np.exp(-decay * radius * node.height))

    system = trajopt.system(("speed", "angle", "height"), ("attack",), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(100.0, 400.0)))
    problem.control("attack", -np.pi, np.pi)
    start, end = [0.36, -8.1 * DEGREE, 4.0 / radius], [0.27, 0.0, 2.5 / radius]
    problem.start_at(x=start)
    problem.end_at(x=end)
    problem.guess([start, end], duration=225.0)
    problem.minimize(named("heat", heating))
    return problem


def reorientation(intervals: int) -> trajopt.Problem:
    """A satellite turns by 150 degrees in least time, the last quaternion component algebraic. Betts, 6.8."""
    inertia = np.array([5621.0, 4547.0, 2364.0])

    def rates(node: Any) -> list[Any]:
        w1, w2, w3 = node.w1, node.w2, node.w3
        return [
            0.5 * (w1 * node.q4 - w2 * node.q3 + w3 * node.q2),
            0.5 * (w1 * node.q3 + w2 * node.q4 - w3 * node.q1),
            0.5 * (-w1 * node.q2 + w2 * node.q1 + w3 * node.q4),
            node.u1 / inertia[0] - (inertia[2] - inertia[1]) / inertia[0] * w2 * w3,
            node.u2 / inertia[1] - (inertia[0] - inertia[2]) / inertia[1] * w1 * w3,
            node.u3 / inertia[2] - (inertia[1] - inertia[0]) / inertia[2] * w1 * w2,
        ]

    system = trajopt.system(("q1", "q2", "q3", "w1", "w2", "w3"), ("u1", "u2", "u3", "q4"), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=(25.0, 35.0)))
    for name in ("u1", "u2", "u3"):
        problem.control(name, -50.0, 50.0)
    problem.control("q4", -1.0, 1.0, guess=0.5)
    problem.subject_to(
        named("unit length", lambda node: node.q1**2 + node.q2**2 + node.q3**2 + node.q4**2 - 1.0),
        equals=0.0,
    )
    start, end = [0.0] * 6, [np.sin(75.0 * DEGREE), *[0.0] * 5]
    problem.start_at(x=start)
    problem.end_at(x=end)
    problem.guess([start, end], duration=30.0)
    problem.minimize(trajopt.duration)
    return problem


def free_flying_robot(intervals: int) -> trajopt.Problem:
    """Two pairs of thrusters, least fuel in twelve seconds. Sakawa, OCAM 20 (1999)."""

    def rates(node: Any) -> list[Any]:
        first, second = node.u1 - node.u2, node.u3 - node.u4
        push = first + second
        return [
            node.vx,
            node.vy,
            node.spin,
            push * np.cos(node.angle),
            push * np.sin(node.angle),
            0.2 * (first - second),
        ]

    thrusters = ("u1", "u2", "u3", "u4")
    system = trajopt.system(("x", "y", "angle", "vx", "vy", "spin"), thrusters, rates)
    problem = trajopt.Problem(system, radau(intervals, duration=12.0))
    for name in thrusters:
        problem.control(name, 0.0, 1.0, guess=0.2)
    problem.start_at(x=[-10.0, -10.0, np.pi / 2.0, 0.0, 0.0, 0.0])
    problem.end_at(x=[0.0] * 6)
    problem.subject_to(state("u1") + state("u2"), upper=1.0)
    problem.subject_to(state("u3") + state("u4"), upper=1.0)
    problem.minimize(state("u1") + state("u2") + state("u3") + state("u4"))
    return problem


def cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """The vector product of expressions."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The scalar product of expressions."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def norm(a: Sequence[Any]) -> Any:
    """The length of a vector of expressions."""
    return np.sqrt(dot(a, a))


def launch(intervals: int) -> trajopt.Phases:
    """Delta III to a transfer orbit in four phases, in SI units. Benson's thesis (2005); GPOPS, PSOPT."""
    mu, radius, turning = 3.986012e14, 6378145.0, 7.29211585e-5
    solid, first, second = (
        (628500.0, 17010.0 / 75.2),
        (1083100.0, 95550.0 / 261.0),
        (110094.0, 16820.0 / 700.0),
    )

    def rates(thrust: float, flow: float) -> Any:
        def of(node: Any) -> list[Any]:
            position, velocity = [node.x, node.y, node.z], [node.vx, node.vy, node.vz]
            distance = norm(position)
            wind = [velocity[0] + turning * position[1], velocity[1] - turning * position[0], velocity[2]]
            speed = np.sqrt(dot(wind, wind) + 1e-2)
            density = 1.225 * np.exp(-(distance - radius) / 7200.0)
            drag = 0.5 * 0.5 * density * 4.0 * np.pi * speed / node.m
            accelerations = [
                thrust / node.m * u - drag * w - mu / distance**3 * r
                for u, w, r in zip((node.ux, node.uy, node.uz), wind, position, strict=True)
            ]
            return [*velocity, *accelerations, -flow]

        return of

    latitude, axis, eccentricity = 28.5 * DEGREE, 24361140.0, 0.7308
    node_angle, perigee = 269.8 * DEGREE, 130.5 * DEGREE
    to_node = np.array([np.cos(node_angle), np.sin(node_angle), 0.0])
    normal_part = np.array([-np.sin(node_angle), np.cos(node_angle), 0.0]) * np.cos(latitude)
    normal_part[2] = np.sin(latitude)
    to_perigee = np.cos(perigee) * to_node + np.sin(perigee) * normal_part
    beyond = -np.sin(perigee) * to_node + np.cos(perigee) * normal_part
    parameter = axis * (1.0 - eccentricity**2)
    at_perigee = parameter / (1.0 + eccentricity) * to_perigee
    speed_there = (1.0 + eccentricity) * np.sqrt(mu / parameter) * beyond
    pad = np.array([radius * np.cos(latitude), 0.0, radius * np.sin(latitude)])
    rest = np.array([0.0, turning * pad[0], 0.0])

    def orbit(node: Any) -> list[Any]:
        """Energy, eccentricity, inclination, ascending node and perigee, without units."""
        position = [each / radius for each in (node.x, node.y, node.z)]
        velocity = [each / np.sqrt(mu / radius) for each in (node.vx, node.vy, node.vz)]
        distance, square = norm(position), dot(velocity, velocity)
        momentum = cross(position, velocity)
        towards = [
            (square - 1.0 / distance) * r - dot(position, velocity) * v
            for r, v in zip(position, velocity, strict=True)
        ]
        return [
            square / 2.0 - 1.0 / distance + radius / (2.0 * axis),
            dot(towards, towards) - eccentricity**2,
            momentum[2] / norm(momentum) - np.cos(latitude),
            (momentum[0] * to_node[0] + momentum[1] * to_node[1]) / norm(momentum),
            (towards[0] * to_node[0] + towards[1] * to_node[1]) / eccentricity - np.cos(perigee),
        ]

    mass = 4164.0 + 19300.0 + 104380.0 + 9.0 * 19290.0
    dropped = (6.0 * 2280.0, 3.0 * 2280.0, 8830.0)
    flights = ((6, True, 75.2), (3, True, 75.2), (0, True, 110.6), (0, False, (1.0, 700.0)))
    stages = []
    for number, (boosters, lower_stage, duration) in enumerate(flights):
        main_thrust, main_flow = first if lower_stage else second
        thrust, flow = boosters * solid[0] + main_thrust, boosters * solid[1] + main_flow
        burnt = mass - flow * duration if isinstance(duration, float) else 4164.0
        names = ("x", "y", "z", "vx", "vy", "vz", "m")
        system = trajopt.system(names, ("ux", "uy", "uz"), rates(thrust, flow))
        stage = trajopt.Problem(system, radau(intervals, 4, duration), name=f"stage {number}")
        for name in ("ux", "uy", "uz"):
            stage.control(name, -1.0, 1.0, guess=1.0 if name == "ux" else 0.0)
        stage.subject_to(
            named(f"direction {number}", lambda node: node.ux**2 + node.uy**2 + node.uz**2), equals=1.0
        )
        place = [*pad, *rest] if number < 2 else [*at_perigee, *speed_there]
        stage.guess([[*place, mass], [*place, burnt]], duration=700.0 if number == 3 else duration)
        if number == 0:
            stage.start_at(x=[*pad, *rest, mass])
        stages.append(stage)
        mass = burnt - (dropped[number] if number < 3 else 0.0)
    stages[-1].minimize(-state("m"), over="end")
    stages[-1].subject_to(named("orbit", orbit), equals=0.0, over="end")
    rocket = trajopt.Phases(*stages)
    for number, lost in enumerate(dropped):
        rocket.link(
            lambda a, b, lost=lost: [
                *(getattr(a, name) - getattr(b, name) for name in names[:-1]),
                a.m - b.m - lost,
            ],
            stages[number].at("end"),
            stages[number + 1].at("start"),
            name=f"separation {number}",
        )
    return rocket


def low_thrust(intervals: int) -> trajopt.Problem:
    """Most mass in an inclined orbit under small thrust; equinoctial elements, ft, s. Betts, 2nd ed., 7.4."""
    impulse, mu, gravity, thrust, radius = 450.0, 1.407645794e16, 32.174, 4.446618e-3, 20925662.73
    zonal = {2: 1082.639e-6, 3: -2.565e-6, 4: -1.608e-6}

    def rates(node: Any) -> list[Any]:
        p, f, g, h, k, weight = node.p, node.f, node.g, node.h, node.k, node.w
        sine, cosine = np.sin(node.L), np.cos(node.L)
        q = 1.0 + f * cosine + g * sine
        r, alpha, s2 = p / q, h * h - k * k, 1.0 + h * h + k * k
        position = [
            r / s2 * (cosine + alpha * cosine + 2.0 * h * k * sine),
            r / s2 * (sine - alpha * sine + 2.0 * h * k * cosine),
            2.0 * r / s2 * (h * sine - k * cosine),
        ]
        root = np.sqrt(mu / p)
        velocity = [
            -root / s2 * (sine + alpha * sine - 2.0 * h * k * cosine + g - 2.0 * f * h * k + alpha * g),
            -root / s2 * (-cosine + alpha * cosine + 2.0 * h * k * sine - f + 2.0 * g * h * k + alpha * f),
            2.0 * root / s2 * (h * cosine + k * sine + f * h + g * k),
        ]
        momentum = cross(position, velocity)
        along = cross(momentum, position)
        radial = [each / norm(position) for each in position]
        transverse = [each / norm(along) for each in along]
        normal = [each / norm(momentum) for each in momentum]
        north = [-radial[2] * radial[0], -radial[2] * radial[1], 1.0 - radial[2] ** 2]
        north = [each / norm(north) for each in north]
        z = radial[2]
        legendre = {
            2: (0.5 * (3.0 * z**2 - 1.0), 3.0 * z),
            3: (0.5 * (5.0 * z**3 - 3.0 * z), 0.5 * (15.0 * z**2 - 3.0)),
            4: (0.125 * (35.0 * z**4 - 30.0 * z**2 + 3.0), 0.125 * (140.0 * z**3 - 60.0 * z)),
        }
        northward = sum(
            -mu * np.sqrt(1.0 - z**2) / r**2 * (radius / r) ** j * slope * zonal[j]
            for j, (_, slope) in legendre.items()
        )
        inward = sum(
            -mu / r**2 * (j + 1.0) * (radius / r) ** j * value * zonal[j]
            for j, (value, _) in legendre.items()
        )
        oblateness = [northward * a - inward * b for a, b in zip(north, radial, strict=True)]
        level = thrust * (1.0 + 0.01 * node.parameter("throttle"))
        push = gravity * level / weight
        d1, d2, d3 = (
            dot(axis, oblateness) + push * control
            for axis, control in zip((radial, transverse, normal), (node.u1, node.u2, node.u3), strict=True)
        )
        root, lean = np.sqrt(p / mu), h * sine - k * cosine
        return [
            2.0 * p / q * root * d2,
            root * sine * d1 + root / q * ((q + 1.0) * cosine + f) * d2 - root * g / q * lean * d3,
            -root * cosine * d1 + root / q * ((q + 1.0) * sine + g) * d2 + root * f / q * lean * d3,
            root * s2 * cosine / (2.0 * q) * d3,
            root * s2 * sine / (2.0 * q) * d3,
            root / q * lean * d3 + np.sqrt(mu * p) * (q / p) ** 2,
            -level / impulse,
        ]

    names = ("p", "f", "g", "h", "k", "L", "w")
    system = trajopt.system(names, ("u1", "u2", "u3"), rates)
    problem = trajopt.Problem(system, radau(intervals, 4, (5e4, 1e5)))
    problem.parameter("throttle", -50.0, 0.0, guess=-25.0)
    for name, guess in (("u1", 0.0), ("u2", 1.0), ("u3", 0.0)):
        problem.control(name, -1.1, 1.1, guess=guess)
    problem.subject_to(named("direction", lambda node: node.u1**2 + node.u2**2 + node.u3**2), equals=1.0)
    start = [21837080.052835, 0.0, 0.0, -0.25396764647494, 0.0, np.pi, 1.0]
    problem.start_at(x=start)
    problem.end_at(x=[40007346.015232, *[None] * 6])
    ends = (
        ("eccentricity", lambda node: node.f**2 + node.g**2, 0.73550320568829**2),
        ("inclination", lambda node: node.h**2 + node.k**2, 0.61761258786099**2),
        ("perigee", lambda node: node.f * node.h + node.g * node.k, 0.0),
    )
    for name, function, value in ends:
        problem.subject_to(named(name, function), equals=value, over="end")
    problem.subject_to(
        named("quadrant", lambda node: node.g * node.h - node.k * node.f), upper=0.0, over="end"
    )
    problem.subject_to(state("w"), lower=0.05)
    problem.subject_to(state("p"), 1e7, 6e7)
    problem.guess([start, [4.0e7, 0.1, 0.73, -0.6, 0.1, 16.0 * np.pi, 0.22]], duration=9e4)
    problem.minimize(-state("w"), over="end")
    return problem


PROBLEMS = (
    PublishedProblem("Apollo re-entry", lambda: apollo(80), 0.02778240, "converged here, 20 intervals"),
    PublishedProblem("reorientation", lambda: reorientation(20), 28.6304, "Betts; GPOPS-II"),
    PublishedProblem("free-flying robot", lambda: free_flying_robot(40), 7.698, "found here"),
    PublishedProblem("Delta III, SI units", lambda: launch(5), -7529.661, "PSOPT"),
    PublishedProblem("low thrust, ft and s", lambda: low_thrust(30), -0.220338, "Betts"),
)
