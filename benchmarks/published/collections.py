"""Ten problems of published collections, each posed once, before anything was changed for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import PublishedProblem, named, radau

state = trajopt.state
DEGREE = np.pi / 180.0


def goddard(intervals: int) -> trajopt.Problem:
    """A rocket climbs as high as its propellant allows. Dolan, More and Munson, COPS 3, problem 10."""

    def rates(node: Any) -> list[Any]:
        drag = 310.0 * node.v**2 * np.exp(-500.0 * (node.h - 1.0))
        return [node.v, (node.thrust - drag) / node.m - 1.0 / node.h**2, -node.thrust / 0.5]

    problem = trajopt.Problem(trajopt.system(("h", "v", "m"), ("thrust",), rates), radau(intervals))
    problem.control("thrust", 0.0, 3.5)
    problem.start_at(x=[1.0, 0.0, 1.0])
    problem.end_at(x=[None, None, 0.6])
    problem.subject_to(state("v"), lower=0.0)
    problem.minimize(-state("h"), over="end")
    return problem


def robot_arm(intervals: int) -> trajopt.Problem:
    """An arm that slides and turns, in least time. COPS 3, problem 8 (Moessner-Beigel)."""

    def rates(node: Any) -> list[Any]:
        about = ((5.0 - node.rho) ** 3 + node.rho**3) / 3.0
        turning = about * np.sin(node.phi) ** 2
        return [
            node.rho1,
            node.theta1,
            node.phi1,
            node.slide / 5.0,
            node.turn / turning,
            node.tilt / about,
        ]

    names = ("rho", "theta", "phi", "rho1", "theta1", "phi1")
    problem = trajopt.Problem(trajopt.system(names, ("slide", "turn", "tilt"), rates), radau(intervals))
    for control in ("slide", "turn", "tilt"):
        problem.control(control, -1.0, 1.0)
    problem.start_at(x=[4.5, 0.0, np.pi / 4.0, 0.0, 0.0, 0.0])
    problem.end_at(x=[4.5, 2.0 * np.pi / 3.0, np.pi / 4.0, 0.0, 0.0, 0.0])
    problem.subject_to(state("rho"), 0.0, 5.0)
    problem.subject_to(state("phi"), 0.0, np.pi)
    problem.minimize(trajopt.duration)
    return problem


def brachistochrone(intervals: int) -> trajopt.Problem:
    """A bead slides from (0, 10) to (10, 5) m in least time. dymos, brachistochrone."""

    def rates(node: Any) -> list[Any]:
        return [
            node.v * np.sin(node.angle),
            -node.v * np.cos(node.angle),
            9.80665 * np.cos(node.angle),
        ]

    problem = trajopt.Problem(
        trajopt.system(("x", "y", "v"), ("angle",), rates), radau(intervals, duration=(0.5, 10.0))
    )
    problem.control("angle", 0.01 * DEGREE, 179.9 * DEGREE)
    problem.start_at(x=[0.0, 10.0, 0.0])
    problem.end_at(x=[10.0, 5.0, None])
    problem.minimize(trajopt.duration)
    return problem


def bryson_denham(intervals: int) -> trajopt.Problem:
    """A mass returns in one second and stays below a ninth. Bryson and Ho (1975), exact 4 / (9 l)."""
    system = trajopt.system(("x", "v"), ("a",), lambda node: [node.v, node.a])
    problem = trajopt.Problem(system, radau(intervals, duration=1.0))
    problem.start_at(x=[0.0, 1.0])
    problem.end_at(x=[0.0, -1.0])
    problem.subject_to(state("x"), upper=1.0 / 9.0)
    problem.minimize(0.5 * state("a") ** 2)
    return problem


def shuttle(intervals: int) -> trajopt.Problem:
    """The largest cross range of a re-entry, in feet. Betts, Practical Methods, 2nd ed., 6.1."""
    mu, earth, area, mass = 0.14076539e17, 20902900.0, 2690.0, 203000.0 / 32.174

    def rates(node: Any) -> list[Any]:
        r, attack = earth + node.h, node.attack / DEGREE
        pressure = 0.5 * 0.002378 * np.exp(-node.h / 23800.0) * node.v**2 * area
        lift = pressure * (-0.20704 + 0.029244 * attack)
        drag = pressure * (0.07854 - 0.61592e-2 * attack + 0.621408e-3 * attack**2)
        sine, cosine, gravity = np.sin(node.climb), np.cos(node.climb), mu / r**2
        along = node.v / r * cosine
        return [
            node.v * sine,
            along * np.sin(node.azimuth) / np.cos(node.latitude),
            along * np.cos(node.azimuth),
            -drag / mass - gravity * sine,
            lift / (mass * node.v) * np.cos(node.bank) + cosine * (node.v / r - gravity / node.v),
            lift * np.sin(node.bank) / (mass * node.v * cosine)
            + along * np.sin(node.azimuth) * np.sin(node.latitude) / np.cos(node.latitude),
        ]

    names = ("h", "longitude", "latitude", "v", "climb", "azimuth")
    problem = trajopt.Problem(trajopt.system(names, ("attack", "bank"), rates), radau(intervals))
    problem.control("attack", -90.0 * DEGREE, 90.0 * DEGREE)
    problem.control("bank", -90.0 * DEGREE, 1.0 * DEGREE)
    start = [260000.0, 0.0, 0.0, 25600.0, -1.0 * DEGREE, 90.0 * DEGREE]
    problem.start_at(x=start)
    problem.end_at(x={"h": 80000.0, "v": 2500.0, "climb": -5.0 * DEGREE})
    problem.subject_to(state("h"), lower=0.0)
    problem.subject_to(state("latitude"), -89.0 * DEGREE, 89.0 * DEGREE)
    problem.subject_to(state("v"), lower=1.0)
    problem.subject_to(state("climb"), -89.0 * DEGREE, 89.0 * DEGREE)
    problem.guess([start, [80000.0, 0.0, 0.0, 2500.0, -5.0 * DEGREE, 90.0 * DEGREE]], duration=2000.0)
    problem.minimize(-state("latitude"), over="end")
    return problem


def hull(intervals: int) -> trajopt.Problem:
    """The least of 2.5 x(T)^2 and half of the squared control. Hull (2003), as in dymos; exact."""
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u]), radau(intervals, duration=10.0)
    )
    problem.start_at(x=[1.5])
    problem.minimize(0.5 * state("u") ** 2)
    problem.minimize(2.5 * state("x") ** 2, over="end")
    return problem


def moon_lander(intervals: int) -> trajopt.Problem:
    """A soft landing with least thrust. Meditch, IEEE TAC 9 (1964); GPOPS-II's manual."""
    problem = trajopt.Problem(
        trajopt.system(("h", "v"), ("u",), lambda node: [node.v, node.u - 1.5]), radau(intervals)
    )
    problem.control("u", 0.0, 3.0)
    problem.start_at(x=[10.0, -2.0])
    problem.end_at(x=[0.0, 0.0])
    problem.minimize(state("u"))
    return problem


def penicillin(intervals: int) -> trajopt.Problem:
    """Most penicillin of a fed batch of free length. Cuthrell and Biegler (1989); Banga et al. (2005)."""

    def rates(node: Any) -> list[Any]:
        growth = 0.11 * node.s / (0.006 * node.x + node.s)
        product = 0.0055 * node.s / (0.0001 + node.s * (1.0 + 10.0 * node.s))
        dilution = node.u / (500.0 * node.volume)
        return [
            growth * node.x - dilution * node.x,
            product * node.x - 0.01 * node.p - dilution * node.p,
            -growth * node.x / 0.47
            - product * node.x / 1.2
            - node.x * 0.029 * node.s / (0.0001 + node.s)
            + node.u / node.volume * (1.0 - node.s / 500.0),
            node.u / 500.0,
        ]

    names, highest = ("x", "p", "s", "volume"), (40.0, 50.0, 25.0, 10.0)
    problem = trajopt.Problem(trajopt.system(names, ("u",), rates), radau(intervals))
    problem.control("u", 0.0, 50.0)
    problem.start_at(x=[1.5, 0.0, 0.0, 7.0])
    for name, upper in zip(names, highest, strict=True):
        problem.subject_to(state(name), 0.0, upper)
    problem.guess([[1.5, 0.0, 0.0, 7.0], [30.0, 8.0, 0.0, 10.0]], duration=125.0)
    problem.minimize(named("product", lambda node: -node.p * node.volume), over="end")
    return problem


def earth_launch(intervals: int) -> trajopt.Problem:
    """One stage to orbit over a flat earth in least time, SI. Longuski, Guzman and Prussing; dymos."""

    def rates(node: Any) -> list[Any]:
        density = 1.225 * np.exp(-node.y / 8440.0)
        drag = 0.5 * density * 0.5 * 7.069
        push = 2100000.0 / node.m
        return [
            node.vx,
            node.vy,
            push * np.cos(node.angle) - drag * node.vx**2 / node.m,
            push * np.sin(node.angle) - drag * node.vy**2 / node.m - 9.80665,
            -2100000.0 / (9.80665 * 265.2),
        ]

    names = ("x", "y", "vx", "vy", "m")
    problem = trajopt.Problem(
        trajopt.system(names, ("angle",), rates), radau(intervals, duration=(10.0, 500.0))
    )
    problem.control("angle", -np.pi / 2.0, np.pi / 2.0)
    start = [0.0, 0.0, 0.0, 0.0, 117000.0]
    problem.start_at(x=start)
    problem.end_at(x={"y": 185000.0, "vx": 7796.6961, "vy": 0.0})
    problem.guess([start, [1.15e5, 185000.0, 7796.6961, 0.0, 1163.0]], duration=150.0)
    problem.minimize(trajopt.duration)
    return problem


def race_car(intervals: int) -> trajopt.Problem:
    """A car with friction under a limit of speed that its place sets. CasADi's race car."""
    system = trajopt.system(
        ("place", "speed"), ("throttle",), lambda node: [node.speed, node.throttle - node.speed]
    )
    problem = trajopt.Problem(system, radau(intervals))
    problem.control("throttle", 0.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x={"place": 1.0})
    limit = named("limit", lambda node: 1.0 - np.sin(2.0 * np.pi * node.place) / 2.0 - node.speed)
    problem.subject_to(limit, lower=0.0)
    problem.minimize(trajopt.duration)
    return problem


#: 3 (T - t) with the switch at t: h(t) = 10 - 2 t - 0.75 t^2 = 0.75 (T - t)^2 and 1.5 (T - t) = 2 + 1.5 t.
SWITCH = (-4.0 + np.sqrt(16.0 + 4.0 * 1.5 * (10.0 - 4.0 / 3.0))) / 3.0

PROBLEMS = (
    PublishedProblem("Goddard's rocket", lambda: goddard(40), -1.01283, "COPS 3"),
    PublishedProblem("sliding robot arm", lambda: robot_arm(20), 9.14093, "COPS 3"),
    PublishedProblem("brachistochrone", lambda: brachistochrone(10), 1.8016, "dymos"),
    PublishedProblem("Bryson and Denham", lambda: bryson_denham(20), 4.0, "exact"),
    PublishedProblem("shuttle's cross range", lambda: shuttle(40), -34.1412 * DEGREE, "Betts"),
    PublishedProblem("Hull", lambda: hull(10), 2.5 * 1.5**2 / 51.0, "exact"),
    PublishedProblem("moon lander", lambda: moon_lander(20), 2.0 * (2.0 + 1.5 * SWITCH), "exact"),
    PublishedProblem("penicillin", lambda: penicillin(40), -87.99, "Banga et al.", lambda: penicillin(80)),
    PublishedProblem("launch to orbit", lambda: earth_launch(15), 143.0, "dymos", lambda: earth_launch(60)),
    PublishedProblem("race car", lambda: race_car(20), 1.9056, "CasADi", lambda: race_car(80)),
)
