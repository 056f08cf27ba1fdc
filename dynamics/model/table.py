"""Prints a robot model as a table: one line per link with joint, mass, limits and gear."""

from __future__ import annotations

import math

import numpy as np

from dynamics.model.body import Body
from dynamics.model.checks.mass_check import has_no_mass
from dynamics.model.checks.tree_checks import Robot, coordinate_indices

HEADER = ("q", "joint", "kind", "link", "on", "mass", "centre of mass", "limits", "rate", "torque", "gear")
UNITS = ("", "", "", "", "", "kg", "m", "rad, m", "1/s", "N m, N", "")


def model_table(model: Robot, joints_without_mass: tuple[str, ...], left_out: tuple[str, ...]) -> str:
    """One line per link, the coordinate first: an index of q, or "=" before one that is shared."""
    coordinates = coordinate_indices(model.bodies)
    rows = [row_of(body, k) for body, k in zip(model.bodies, coordinates, strict=True)]
    mass = sum(body.mass for body in model.bodies)
    gravity = ", ".join(number(g) for g in model.gravity)
    title = (
        f"{model.name or 'model'}: {max(coordinates) + 1} coordinates, {len(rows)} links, {number(mass)} kg, "
        f"gravity ({gravity}) m/s^2, rotors {model.rotors}"
    )
    lines = [title, *aligned([HEADER, UNITS, *rows])]
    if model.ground_mass:
        lines.append(
            f"held to the ground: links of {number(model.ground_mass)} kg, which never move; "
            'load_urdf(..., floating_base="free") lets the base move'
        )
    if has_no_mass(model):
        lines.append(
            "no link has a mass, so no torque is limited: load_urdf(..., masses={LINK: kg}) gives some"
        )
    elif joints_without_mass:
        lines.append(f"joints that move no mass: {', '.join(joints_without_mass)}")
    if model.frames:
        lines.append("frames: " + ", ".join(f"{f.name} on {f.body or 'ground'}" for f in model.frames))
    lines += [f"left out: {each}" for each in left_out]
    return "\n".join(lines)


def row_of(body: Body, coordinate: int) -> tuple[str, ...]:
    joint, limits = body.joint, body.joint.limits
    shared = "" if joint.mimics is None else "="
    return (
        f"{shared}{coordinate}",
        joint.name,
        joint.kind,
        body.name,
        body.parent or "ground",
        number(body.mass),
        " ".join(number(c) for c in body.centre_of_mass),
        interval(limits.q_lower, limits.q_upper),
        "-" if math.isinf(limits.velocity) else number(limits.velocity),
        interval(limits.torque_lower, limits.torque_upper),
        "-" if joint.rotor is None else number(joint.rotor.gear_ratio),
    )


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def interval(lower: float, upper: float) -> str:
    """ "[-1, 2]", "+-10" when symmetric, "-" when there is no limit."""
    if math.isinf(lower) and math.isinf(upper):
        return "-"
    return f"+-{number(upper)}" if lower == -upper else f"[{number(lower)}, {number(upper)}]"


def number(value: float) -> str:
    """Four significant digits; rounding noise around zero is zero."""
    return f"{0.0 if abs(value) < 1e-12 else float(np.round(value, 12)):.4g}"
