"""Vehicles: a car's lap, a rejected take-off, a cannonball."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
DEGREE, FOOT, KNOT, POUND = np.pi / 180.0, 0.3048, 1852.0 / 3600.0, 0.45359237  # m, m/s, kg
GRAVITY = 9.80665
# Density of the US standard atmosphere of 1976, kg/m^3, at heights in km.
HEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0)
DENSITIES = (
    *(1.225, 1.1117, 1.0066, 0.90925, 0.81935, 0.73643, 0.66011),
    *(0.52579, 0.41351, 0.19476, 0.08891, 0.01841, 0.003996),
)
AIR = casadi.interpolant("air", "bspline", [HEIGHTS], DENSITIES)

# Straights and curves of the oval: length in m, curvature in 1/m.
QUARTER = np.pi / 2.0
TRACK = (
    *((150.0, 0.0), (QUARTER * 50.0, 1 / 50.0), (100.0, 0.0), (QUARTER * 90.0, 1 / 90.0)),
    *((300.0, 0.0), (QUARTER * 50.0, 1 / 50.0), (100.0, 0.0), (QUARTER * 90.0, 1 / 90.0), (155.0, 0.0)),
)


def lap(intervals: int) -> trajopt.Problem:
    """A racing car's fastest lap, by the way along the track. dymos, racecar; Christ et al. (2019)."""
    mass, front, rear, half_track, inertia, air = 800.0, 1.8, 1.6, 0.73, 450.0, 1.2
    base, height, stiffness, grip, lag, gravity = front + rear, 0.3, 44.0, 1.68, 0.2, 9.8

    def tyres(node: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Load, longitudinal and lateral force of front left, front right, rear left, rear right."""
        downforce = 0.5 * air * 4.0 * node.speed**2
        at_rear = downforce * 1.6 / base
        pitch, roll = node.ax * height / base, node.ay * 0.5 * height / half_track
        on_front, on_rear = mass * gravity / 2.0 * rear / base, mass * gravity / 2.0 * front / base
        loads = [
            on_front + mass / 4.0 * (side * roll - pitch) + (downforce - at_rear) / 2.0 for side in (1, -1)
        ]
        loads += [on_rear + mass / 4.0 * (side * roll + pitch) + at_rear / 2.0 for side in (1, -1)]
        ahead = -mass * gravity / 2.0 * node.brake * 0.62
        behind = mass * gravity / 2.0 * (node.throttle - node.brake * (1.0 - 0.62))
        turn, slip = node.yaw / node.speed, node.slip
        angles = [slip + node.steer - turn * (front + side * slip * half_track) for side in (1, -1)]
        angles += [slip + turn * (rear - side * slip * half_track) for side in (1, -1)]
        across = [stiffness * load * angle for load, angle in zip(loads, angles, strict=True)]
        return loads, [ahead, ahead, behind, behind], across

    def rates(node: Any) -> list[Any]:
        _, along, across = tyres(node)
        curvature, speed, slip = node.data("curvature"), node.speed, node.slip
        progress = speed * np.cos(node.heading - slip) / (1.0 - node.offset * curvature)
        drag = 0.5 * air * 2.0 * speed**2
        faster = (sum(along) - node.steer * (across[0] + across[1]) - drag) / mass - node.yaw * speed * slip
        slipping = (
            node.yaw - (faster * slip + (node.steer * (along[0] + along[1]) + sum(across)) / mass) / speed
        )
        moment = front * (across[0] + across[1]) - rear * (across[2] + across[3])
        moment = moment + half_track * (along[0] - along[1] + along[2] - along[3])
        by_time = [
            1.0,
            speed * np.sin(node.heading - slip),
            faster,
            node.yaw - curvature * progress,
            slipping,
            moment / inertia,
            (faster + node.yaw * speed * slip - node.ax) / lag,
            (node.yaw * speed - speed * slipping - faster * slip - node.ay) / lag,
        ]
        return [rate / progress for rate in by_time]

    def used_grip(node: Any) -> list[Any]:
        return [
            (along / (load * grip)) ** 2 + (across / (load * grip)) ** 2
            for load, along, across in zip(*tyres(node), strict=True)
        ]

    names = ("seconds", "offset", "speed", "heading", "slip", "yaw", "ax", "ay")
    lengths, curvatures = np.transpose(TRACK)
    system = trajopt.system(names, ("steer", "throttle", "brake"), rates)
    problem = trajopt.Problem(system, radau(intervals, duration=float(lengths.sum())))
    problem.data("curvature", np.cumsum(lengths) - lengths, curvatures, interpolation="steps")
    problem.control("throttle", lower=0.0, guess=0.1)
    problem.control("brake", lower=0.0)
    problem.start_at(x={"seconds": 0.0})
    problem.subject_to_periodic(trajopt.q[1:])
    problem.subject_to(state("offset"), -4.0, 4.0)
    problem.subject_to(named("power, MW", lambda node: 1e-6 * node.speed * sum(tyres(node)[1])), upper=0.96)
    problem.subject_to(named("grip", used_grip), upper=1.0)
    problem.guess([[0.0, 0.0, 20.0, *[0.0] * 5], [100.0, 0.0, 20.0, *[0.0] * 5]])
    problem.minimize(state("seconds"), over="end")
    return problem


def take_off(intervals: int) -> trajopt.Phases:
    """The shortest runway on which a failed engine leaves both ways out. dymos, balanced field length."""
    mass, density, area, thrust = 174200.0 * POUND, 1.225, 124.7, 27000.0 * POUND * GRAVITY
    weight = mass * GRAVITY
    stall = float(np.sqrt(2.0 * weight / (density * area * 2.0)))

    def lift_and_drag(speed: Any, height: Any, attack: Any) -> tuple[Any, Any]:
        coefficient = 0.5 + attack / (10.0 * DEGREE) * 1.5
        near_ground = 33.0 * ((height + 1.0) / (35.7 / 2.0)) ** 1.5
        induced = near_ground / (1.0 + near_ground) / (np.pi * 9.45 * 0.801)
        pressure = 0.5 * density * speed**2 * area
        return pressure * coefficient, pressure * (0.03 + induced * coefficient**2)

    def on_wheels(node: Any, attack: Any, push: float) -> tuple[Any, Any]:
        """Load of the wheels and drag."""
        lift, drag = lift_and_drag(node.speed, 0.0, attack)
        return weight - lift * np.cos(attack) - push * np.sin(attack), drag

    def rolling(push: float, friction: float, rotates: bool = False) -> Any:
        def rates(node: Any) -> list[Any]:
            attack = node.attack if rotates else 0.0
            load, drag = on_wheels(node, attack, push)
            return [node.speed, (push * np.cos(attack) - drag - load * friction) / mass]

        return rates

    def flying(node: Any) -> list[Any]:
        lift, drag = lift_and_drag(node.speed, node.height, node.attack)
        sine, cosine = np.sin(node.climb), np.cos(node.climb)
        return [
            node.speed * cosine,
            node.speed * sine,
            (thrust * np.cos(node.attack) - drag) / mass - GRAVITY * sine,
            (thrust * np.sin(node.attack) + lift) / (mass * node.speed) - GRAVITY / node.speed * cosine,
        ]

    def phase(name: str, rates: Any, guess: Any, seconds: float, longest: float = 1000.0) -> trajopt.Problem:
        states = ("range", "speed") if len(guess[0]) == 2 else ("range", "height", "speed", "climb")
        controls = ("attack",) if longest < 1000.0 else ()
        system = trajopt.system(states, controls, rates)
        problem = trajopt.Problem(system, radau(intervals, duration=(1.0, longest)), name=name)
        for each in states:
            problem.subject_to(state(each), lower=0.0)
        problem.guess(guess, duration=seconds)
        return problem

    run = phase("to V1", rolling(2.0 * thrust, 0.03), [[0.0, 0.0], [2500.0, 100.0]], 35.0)
    stop = phase("rejected", rolling(0.0, 0.3), [[2500.0, 110.0], [5000.0, 0.0]], 1.0)
    go = phase("V1 to VR", rolling(thrust, 0.03), [[2500.0, 100.0], [2800.0, 110.0]], 35.0)
    rotate = phase("rotation", rolling(thrust, 0.03, True), [[1750.0, 80.0], [1800.0, 85.0]], 5.0, 5.0)
    off = [5000.0 * FOOT, 0.0, 160.0 * KNOT, 0.0], [5500.0 * FOOT, 35.0 * FOOT, 170.0 * KNOT, 5.0 * DEGREE]
    climb = phase("climb", flying, off, 20.0, 100.0)
    rotate.control("attack", 0.0, 10.0 * DEGREE, degree=1, continuous=True)
    climb.control("attack", -10.0 * DEGREE, 15.0 * DEGREE, guess=5.0 * DEGREE)
    run.start_at(x=[0.0, 0.0])
    stop.end_at(x=[None, 0.0])
    go.subject_to(state("speed"), lower=1.2 * stall, over="end")
    rotate.subject_to(state("attack"), equals=0.0, over="start")
    unloaded = named("load of the wheels", lambda node: on_wheels(node, node.attack, thrust)[0] / weight)
    rotate.subject_to(unloaded, equals=0.0, over="end")
    climb.start_at(x={"height": 0.0, "climb": 0.0})
    climb.end_at(x={"height": 35.0 * FOOT, "climb": 5.0 * DEGREE})
    climb.subject_to(state("climb"), upper=5.0 * DEGREE)
    climb.subject_to(state("speed"), lower=1.25 * stall, over="end")
    stop.minimize(state("range"), over="end")
    both = trajopt.Phases(run, go, rotate, climb, stop)
    for before, after in ((run, go), (run, stop), (go, rotate)):
        both.link(trajopt.q, before.at("end"), after.at("start"))
    both.link(
        lambda a, b: [a.range - b.range, a.speed - b.speed, a.attack - b.attack],
        rotate.at("end"),
        climb.at("start"),
        name="lift off",
    )
    both.link(lambda a, b: a.range - b.range, stop.at("end"), climb.at("end"), name="same field length")
    return both


def cannonball(intervals: int) -> trajopt.Phases:
    """The radius of a ball of iron that flies farthest for 400 kJ. dymos, multi-phase cannonball."""

    def ball(node: Any) -> tuple[Any, Any]:
        """Mass and area."""
        radius = node.parameter("radius")
        return 4.0 / 3.0 * 7870.0 * np.pi * radius**3, np.pi * radius**2

    def rates(node: Any) -> list[Any]:
        mass, area = ball(node)
        density = AIR(node.height / 1000.0)
        sine, cosine = np.sin(node.climb), np.cos(node.climb)
        drag = 0.5 * density * node.speed**2 * area * 0.5
        return [
            node.speed * cosine,
            node.speed * sine,
            -GRAVITY / node.speed * cosine,
            -drag / mass - GRAVITY * sine,
        ]

    def phase(name: str, guess: Sequence[Sequence[float]]) -> trajopt.Problem:
        system = trajopt.system(("range", "height", "climb", "speed"), (), rates)
        problem = trajopt.Problem(system, radau(intervals, duration=(1.0, 100.0)), name=name)
        problem.parameter("radius", 0.01, 0.10, guess=0.05)
        problem.guess(guess, duration=10.0)
        return problem

    rise = phase("ascent", [[0.0, 0.0, 25.0 * DEGREE, 200.0], [100.0, 100.0, 0.0, 150.0]])
    fall = phase("descent", [[100.0, 100.0, 0.0, 150.0], [200.0, 0.0, -45.0 * DEGREE, 200.0]])
    rise.start_at(x={"range": 0.0, "height": 0.0})
    rise.end_at(x={"climb": 0.0})
    energy = named("energy, kJ", lambda node: 5e-4 * ball(node)[0] * node.speed**2)
    rise.subject_to(energy, upper=400.0, over="start")
    fall.end_at(x={"height": 0.0})
    fall.minimize(-state("range"), over="end")
    both = trajopt.Phases(rise, fall)
    both.link(trajopt.q, rise.at("end"), fall.at("start"))
    return both


PROBLEMS = (
    PublishedProblem("racing car, a lap", lambda: lap(50), 22.2657, "dymos"),
    PublishedProblem("balanced field", lambda: take_off(5), 2197.0, "dymos"),
    PublishedProblem(
        "cannonball", lambda: cannonball(5), -3183.25, "dymos, other air", lambda: cannonball(20)
    ),
)
