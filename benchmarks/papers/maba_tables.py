"""Echeandia's chapter 4: tables 4.1 to 4.6, and which of their rows are artefacts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.papers.models import THESIS_ROTOR, thesis_case
from benchmarks.papers.production import kernel_time
from benchmarks.shared.markdown import seconds, section, small, table
from benchmarks.shared.timing import time_of
from dynamics import RigidBodyModel
from dynamics.model.rotor import Rotor
from dynamics.papers.barman.newton_euler import newton_euler
from dynamics.papers.echeandia_thesis.gauss_principle import gauss_accelerations
from dynamics.papers.echeandia_thesis.maba import maba
from dynamics.papers.echeandia_thesis.maba_as_printed import MISPRINTS, Misprint, maba_as_printed
from dynamics.papers.echeandia_thesis.mcrba import mcrba
from dynamics.papers.trees.autotree import autotree

SIZES = (5, 10, 15)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference."""
    return float(np.abs(a - b).max())


def consistency_section() -> str:
    """Table 4.1."""
    rows: dict[str, list[str]] = {}
    for count in SIZES:
        model, q, v, tau = thesis_case(count, 1)
        bare = model.with_rotors("none")
        exact, printed = maba(model, q, v, tau), maba_as_printed(model, q, v, tau)
        for name, robot, a in (
            ("corrected, rotors in both", model, exact),
            ("as printed, rotors in both", model, printed),
            ("as printed, rotors in MABA only", bare, printed),
            ("as printed, no rotors", bare, maba_as_printed(bare, q, v, tau)),
        ):
            rows.setdefault(name, []).append(small(gap(newton_euler(robot, q, v, a).tau, tau)))
    return section(
        "Table 4.1: torque recovered from MABA's accelerations, N m",
        table(
            ["", "N = 5", "N = 10", "N = 15"],
            [["published", "4.3e-14", "4.3e-13", "2.4e-13"], *([f"ours, {k}", *v] for k, v in rows.items())],
        ),
        "**The published row is an artefact.** Once a rotor has inertia, the accelerations of Algorithm 6 as "
        "printed do not return the torques, whether the inverse dynamics has the rotors or not: they miss by "
        "newton metres. They do return them when no rotor has inertia, so the row can only be a test without "
        "rotors or of another algorithm. Corrected, the algorithm passes with rotors.",
    )


def bare_section() -> str:
    """Table 4.2."""
    rows: list[list[str]] = [["MABA and ABA"], ["MABA and MCRBA"], ["MCRBA and ABA"]]
    published = (
        ("8.4e-15", "2.9e-14", "1.9e-13"),
        ("1.5e-14", "6.1e-14", "2.2e-13"),
        ("6.2e-15", "6.7e-14", "2.1e-13"),
    )
    for place, count in enumerate(SIZES):
        model, q, v, tau = thesis_case(count, 1)
        bare = model.with_rotors("none")
        exact, printed, matrix = (
            maba(bare, q, v, tau),
            maba_as_printed(bare, q, v, tau),
            mcrba(bare, q, v, tau),
        )
        for row, ours in enumerate((gap(printed, exact), gap(printed, matrix), gap(matrix, exact))):
            rows[row].append(f"{published[row][place]} / {small(ours)}")
    return section(
        "Table 4.2: rotors without inertia, largest difference of accelerations, rad/s2",
        "MABA as printed, **published / ours**:",
        table(["", "N = 5", "N = 10", "N = 15"], rows),
        "Rounding errors, of the published order. Algorithm 6 inverts the rotor's inertia; without inertia "
        "it gives this table only when that inverse is a pseudo-inverse or the rotor is skipped.",
    )


def rotor_rows(branching: int, rate: float) -> dict[str, list[float]]:
    """The differences that tables 4.3 to 4.5 print, for MABA corrected and as printed."""
    names = (
        "MCRBA and ABA",
        "MCRBA without C v, and ABA",
        "MABA and ABA, corrected",
        "MABA and ABA, as printed",
        "MABA and MCRBA, corrected",
        "MABA and MCRBA, as printed",
        "MABA and MCRBA without C v, corrected",
        "MABA and MCRBA without C v, as printed",
    )
    rows: dict[str, list[float]] = {name: [] for name in names}
    for count in SIZES:
        model, q, v, tau = thesis_case(count, branching, rate)
        plain = maba(model.with_rotors("none"), q, v, tau)
        full, without = mcrba(model, q, v, tau), mcrba(model, q, v, tau, coriolis=False)
        exact, printed = maba(model, q, v, tau), maba_as_printed(model, q, v, tau)
        found = (
            gap(full, plain),
            gap(without, plain),
            gap(exact, plain),
            gap(printed, plain),
            gap(exact, full),
            gap(printed, full),
            gap(exact, without),
            gap(printed, without),
        )
        for name, value in zip(names, found, strict=True):
            rows[name].append(value)
    return rows


def rotor_table(rows: dict[str, list[float]], published: dict[str, tuple[str, ...]], digits: int) -> str:
    """Published numbers beside ours, for the rows that have any."""
    lines = []
    for name, values in rows.items():
        theirs = published.get(name, ("",) * 3)
        lines.append([name, *theirs, *(f"{value:.{digits}f}" for value in values)])
    sizes = [f"N = {n}" for n in SIZES]
    return table(["", *(f"published, {n}" for n in sizes), *(f"ours, {n}" for n in sizes)], lines)


def nearest_variant() -> str:
    """Distances of rotors and corrections of Algorithm 6 from the first column of table 4.3."""
    _, q, v, tau = thesis_case(5, 1)
    misses: dict[tuple[str, ...], list[float]] = {}
    for mass, offset, at in itertools.product((0.0, 0.5, 1.0), (0.0, 0.5, 1.0), (0.0, 1.0)):
        model = chain_with_rotors_at(mass, offset, at)
        plain, matrix = maba(model.with_rotors("none"), q, v, tau), mcrba(model, q, v, tau)
        for size in range(4):
            for mended in itertools.combinations(("cross terms", "torque", "rotor frame"), size):
                a = maba_as_printed(model, q, v, tau, mended)
                miss = max(abs(gap(a, plain) - 23.12), abs(gap(a, matrix) - 0.026))
                misses.setdefault(mended, []).append(miss)
    right = min(misses.pop(("cross terms", "torque", "rotor frame")))
    wrong = min(min(values) for values in misses.values())
    return (
        "with rotors of 0, 0.5 and 1 kg, centre of mass 0, 0.5 and 1 m off the axis, at the joint or at the "
        "parent's origin, the corrected algorithm misses the published pair of N = 5 (23.12, 0.026) by "
        f"{right:.3f} rad/s2 at best, any choice of misprints by {wrong:.3f}."
    )


def chain_with_rotors_at(mass: float, offset: float, at: float) -> RigidBodyModel:
    """Five tubes with rotors of 1 kg m2, `at` m along the parent, centre of mass `offset` m off the axis."""
    own = 1.0 - mass * offset**2
    centre, position = np.array([offset, 0.0, 0.0]), np.array([at, 0.0, 0.0])
    rotor = Rotor(5.0, mass, np.diag([own, own, own]), position=position, centre_of_mass=centre)
    moved = [replace(body, joint=replace(body.joint, rotor=rotor)) for body in autotree(5).bodies]
    return RigidBodyModel(tuple(moved), gravity=np.zeros(3))


def still_section() -> str:
    """Tables 4.3 and 4.4."""
    serial, branched = rotor_rows(1, 0.0), rotor_rows(2, 0.0)
    for rows in (serial, branched):  # at rest C v is zero
        for name in [name for name in rows if "without C v" in name]:
            del rows[name]
    printed = {
        "MABA and ABA, as printed": ("23.12", "39.14", "57.72"),
        "MABA and MCRBA, as printed": ("0.026", "0.037", "0.062"),
        "MCRBA and ABA": ("23.15", "39.18", "57.79"),
    }
    forked = {
        "MABA and ABA, as printed": ("28.16", "79.64", "179.38"),
        "MABA and MCRBA, as printed": ("0.037", "0.070", "0.11"),
        "MCRBA and ABA": ("28.19", "79.69", "179.47"),
    }
    return section(
        "Tables 4.3 and 4.4: rotors, at rest, rad/s2",
        "Serial chains (4.3):",
        rotor_table(serial, printed, 3),
        "Binary trees (4.4):",
        rotor_table(branched, forked, 3),
        "**MCRBA and ABA: every printed digit**, with Featherstone's planar `autoTree`, q_i = tau_i = i, "
        "gear ratio 5 and 25 kg m2 on the diagonal. **The MABA rows belong to no algorithm that the thesis "
        "describes.** The corrected one, which equals the constrained spanning tree and Gauss' principle "
        "to rounding, differs from MCRBA by more than the published row: exact rotors couple each joint to "
        "all before it (entries n J off the diagonal), which MCRBA lacks. Algorithm 6 as printed does so "
        "too. So the published closeness to MCRBA, which the thesis takes for a sign of correctness, is "
        "none. "
        "The thesis does not say where its rotors sit; " + nearest_variant(),
    )


def moving_section() -> str:
    """Table 4.5."""
    rows = rotor_rows(1, np.pi / 2)
    published = {
        "MABA and ABA, as printed": ("83.41", "171.97", "776.78"),
        "MABA and MCRBA without C v, as printed": ("1.51", "23.47", "102.61"),
        "MCRBA without C v, and ABA": ("84.06", "179.53", "836.16"),
    }
    share = [
        1.0 - a / b
        for a, b in zip(
            rows["MABA and MCRBA, corrected"], rows["MABA and MCRBA without C v, corrected"], strict=True
        )
    ]
    return section(
        "Table 4.5: rotors, all joints at pi/2 rad/s, rad/s2",
        rotor_table(rows, published, 2),
        "**The published MCRBA row is that of MCRBA with C v left out**, to every digit, against its own "
        "definition (4.26). The deviation that the thesis ascribes to the approximation is therefore "
        "mostly this omission: with C v, the corrected MABA and MCRBA differ by "
        f"{', '.join(f'{100 * x:.0f} %' for x in share)} less (N = 5, 10, 15). The MABA rows again belong "
        "to a misprinted algorithm and unstated rotor positions: a pattern, not a number to match.",
    )


def misprint_section() -> str:
    """Effect of each misprint alone."""
    rng = np.random.default_rng(0)
    model = autotree(15, 2, skew=0.7, rotor=THESIS_ROTOR).with_gravity((0.0, 0.0, -9.81))
    q, v, tau = rng.normal(size=(3, 15))
    exact = gauss_accelerations(model, q, v, tau)
    scale = np.abs(exact).max()
    lines = [["none (corrected)", small(gap(maba(model, q, v, tau), exact) / scale)]]
    for misprint in MISPRINTS:
        others: list[Misprint] = [name for name in MISPRINTS if name != misprint]
        lines.append(
            [f"{misprint} only", small(gap(maba_as_printed(model, q, v, tau, others), exact) / scale)]
        )
    lines.append(["all (as printed)", small(gap(maba_as_printed(model, q, v, tau), exact) / scale)])
    return section(
        "Effects of the misprints of Algorithm 6",
        "Relative error of the accelerations against Gauss' principle (4.1), solved as a least-squares "
        "problem, on a binary tree of 15 with skew axes under gravity:",
        table(["misprint present", "error"], lines),
    )


def run_time_section() -> str:
    """Table 4.6."""
    lines = []
    for name, branching, published in (
        ("serial chain, 20 DOF", 1, ("1.4", "0.6")),
        ("binary tree, 20 DOF", 2, ("1.5", "0.6")),
    ):
        model, q, v, tau = thesis_case(20, branching)
        bare = model.with_rotors("none")
        plain = [time_of(partial(maba, m, q, v, tau)) for m in (model, bare)]
        compiled = [kernel_time("aba", m, 3) for m in (model, bare)]
        lines.append(
            [
                f"{name}: MABA",
                f"{published[0]} ms",
                seconds(plain[0]),
                seconds(compiled[0].call),
                seconds(compiled[0].node),
            ]
        )
        lines.append(
            [
                "ABA",
                f"{published[1]} ms",
                seconds(plain[1]),
                seconds(compiled[1].call),
                seconds(compiled[1].node),
            ]
        )
    return section(
        "Table 4.6: run times of forward dynamics",
        table(
            ["", "published (MATLAB)", "NumPy", "production, one call", "production, per node of 64"], lines
        ),
        "Interpreted code against interpreted code (the second and third columns) differs by machine and "
        "language only; the ratio of MABA to ABA is the comparable number.",
    )


def sections() -> list[str]:
    """Chapter 4, in its order."""
    return [
        consistency_section(),
        bare_section(),
        still_section(),
        moving_section(),
        misprint_section(),
        run_time_section(),
    ]
