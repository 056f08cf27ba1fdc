"""Barman's analytic sensitivities of every internal force and moment to q, v, a and the loads.

A sensitivity of a vector of link j is (..., 3, N), a column for each joint variable i. For i before j the
thesis has one formula for q, v and a; what it prints as the case i = j is added to column j. Misprints
corrected, in the order of the thesis: (3.13), (3.18) second case, (3.40), (3.51) third line, (3.52) first
line, the lost dots of (3.56), (3.58) and (3.61), (3.76) first case, the signs of (3.78), (3.86) and (3.90),
"is zero" for "adds nothing" in (3.79), (3.87) and (3.91), the two terms that (3.83) lacks for a prismatic
joint's own column, and (3.85) j = k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.barman.newton_euler import (
    Forces,
    InnerForces,
    LinkMotion,
    Load,
    add_to_parent,
    body_forces,
    carried,
    hats,
    link_places,
    newton_euler,
    outward,
    subtract_load,
    world_rotation,
)
from dynamics.papers.trees.linkage import Linkage, linkage_of

BY = ("q", "v", "a")
Columns = dict[str, np.ndarray]  # one (..., 3, N) for each of BY


@dataclass(frozen=True, eq=False)
class Partials:
    """Derivatives by q, v and a: of forces and moments (..., links, 3, n), of tau (..., n, n)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True, eq=False)
class LoadPartials:
    """Derivatives by one load in world axes: of forces and moments (..., links, 3, 3), of tau (..., n, 3).

    No force depends on a moment.
    """

    force_by_force: np.ndarray
    moment_by_force: np.ndarray
    moment_by_moment: np.ndarray
    tau_by_force: np.ndarray
    tau_by_moment: np.ndarray


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """`value` is that of `newton_euler`; `loads` has one entry for each load, in their order."""

    value: Forces
    force: Partials
    moment: Partials
    tau: Partials
    loads: tuple[LoadPartials, ...]


@dataclass(frozen=True, eq=False)
class MotionColumns:
    """Sensitivities of what `LinkMotion` has under these names."""

    omega: Columns
    alpha: Columns
    start: Columns
    gravity: Columns


def newton_euler_sensitivities(
    model: KinematicTree, q: np.ndarray, v: np.ndarray, a: np.ndarray, loads: Sequence[Load] = ()
) -> Sensitivities:
    """Internal forces and moments with their derivatives by q, v, a (each (..., n)) and by every load.

    The loads are held constant in world axes, their points in their links.
    Raises ShapeError when q, v or a do not fit, UnknownNameError when a load names no link.
    Source: Barman, thesis, ch. III.
    """
    q, v, a = np.asarray(q), np.asarray(v), np.asarray(a)
    linkage, places = linkage_of(model), link_places(model)
    motions = outward(linkage, q, v, a)
    columns = outward_columns(linkage, motions)
    inner = body_forces(linkage, motions)
    force, moment = body_columns(linkage, motions, columns, inner)
    for load in loads:
        k = places[model.link_index(load.link)]
        add_load(linkage, motions, k, load, inner, force[k], moment[k])
    gather(linkage, motions, inner, force, moment)
    along = [moment[j] if m.turns else force[j] for j, m in enumerate(motions)]
    G, batch = linkage.reduction, q.shape[:-1]
    tau = {by: np.stack([(m.e @ x[by]) for m, x in zip(motions, along, strict=True)], axis=-2) for by in BY}
    tau = {by: G.T @ x @ G for by, x in tau.items()}
    tau["a"] = tau["a"] + np.diag(linkage.armature)
    by_link = [
        {by: stacked_matrices([x[i][by] @ G for i in places], (*batch, 3, linkage.n)) for by in BY}
        for x in (force, moment)
    ]
    by_load = [
        load_partials(linkage, motions, places, places[model.link_index(load.link)], load, batch)
        for load in loads
    ]
    value = newton_euler(model, q, v, a, loads)
    return Sensitivities(
        value, Partials(**by_link[0]), Partials(**by_link[1]), Partials(**tau), tuple(by_load)
    )


def outward_columns(linkage: Linkage, motions: list[LinkMotion]) -> list[MotionColumns]:
    """Steps 3 to 7: sensitivities of every link's motion.

    A turn by the joint carries R_j' x to -e x (R_j' x).
    """
    none = {by: np.zeros((3, linkage.dof)) for by in BY}
    columns: list[MotionColumns] = []
    for j, (link, motion) in enumerate(zip(linkage.links, motions, strict=True)):
        arriving, alpha, start, gravity = (dict(none) for _ in range(4))
        if link.parent >= 0:
            before, theirs = motions[link.parent], columns[link.parent]
            moved = acceleration_columns(before, theirs, link.parent, link.motion.position)
            for by in BY:
                arriving[by] = motion.Rt @ theirs.omega[by]  # (3.9)
                alpha[by] = motion.Rt @ theirs.alpha[by]  # (3.15)
                start[by] = motion.Rt @ (theirs.start[by] + moved[by])  # (3.54)
                gravity[by] = motion.Rt @ theirs.gravity[by]  # (3.63)
        omega = arriving
        if motion.turns:
            e = motion.e
            came = motion.alpha - e * motion.acceleration - np.cross(motion.arriving, e * motion.rate)
            arriving = own(arriving, j, q=-np.cross(e, motion.arriving))
            alpha = own(alpha, j, q=-np.cross(e, came))
            start = own(start, j, q=-np.cross(e, motion.start))
            gravity = own(gravity, j, q=-np.cross(e, motion.gravity))
            omega = own(arriving, j, v=e)  # (3.12)
            spinning = hats(e * motion.rate)
            alpha = {by: alpha[by] - spinning @ arriving[by] for by in BY}  # (3.18)
            alpha = own(alpha, j, v=np.cross(motion.arriving, e), a=e)
        columns.append(MotionColumns(omega, alpha, start, gravity))
    return columns


def own(columns: Columns, j: int, **terms: np.ndarray) -> Columns:
    """`columns` with terms (..., 3) added to column j: the case i = j."""
    changed = dict(columns)
    for by, term in terms.items():
        whole = np.zeros((*term.shape, columns[by].shape[-1]), dtype=term.dtype)
        whole[..., j] = term
        changed[by] = columns[by] + whole
    return changed


def acceleration_columns(motion: LinkMotion, columns: MotionColumns, j: int, lever: np.ndarray) -> Columns:
    """Columns of `motion.acceleration_of(lever)`: (3.51), (3.52), (3.57), (3.58)."""
    reach = lever + motion.slide
    omega, swept = hats(motion.omega), np.cross(motion.omega, reach)
    sweeping = {by: -hats(reach) @ columns.omega[by] for by in BY}
    if not motion.turns:
        sweeping = own(sweeping, j, q=np.cross(motion.omega, motion.e))
        swept_twice = swept + 2.0 * motion.e * motion.rate
    else:
        swept_twice = swept
    moved = {
        by: -hats(reach) @ columns.alpha[by] - hats(swept_twice) @ columns.omega[by] + omega @ sweeping[by]
        for by in BY
    }
    if motion.turns:
        return moved
    doubled = 2.0 * np.cross(motion.omega, motion.e)
    return own(moved, j, q=np.cross(motion.alpha, motion.e), v=doubled, a=motion.e)


def body_columns(
    linkage: Linkage, motions: list[LinkMotion], columns: list[MotionColumns], inner: InnerForces
) -> tuple[list[Columns], list[Columns]]:
    """Sensitivities of `body_forces` (3.68), (3.70), and the first term that (3.83) lacks."""
    force, moment = [], []
    for j, (link, motion, sens) in enumerate(zip(linkage.links, motions, columns, strict=True)):
        moved = acceleration_columns(motion, sens, j, link.centre_of_mass)
        F = {by: link.mass * (sens.start[by] + moved[by] - sens.gravity[by]) for by in BY}
        spin = hats(carried(link.inertia, motion.omega))
        gyration = hats(motion.omega) @ link.inertia - spin
        lever = hats(link.centre_of_mass + motion.slide)
        T = {by: link.inertia @ sens.alpha[by] + gyration @ sens.omega[by] + lever @ F[by] for by in BY}
        force.append(F)
        moment.append(T if motion.turns else own(T, j, q=np.cross(motion.e, inner.force[j])))
    return force, moment


def gather(
    linkage: Linkage,
    motions: list[LinkMotion],
    inner: InnerForces,
    force: list[Columns],
    moment: list[Columns],
) -> None:
    """Steps 9 a and c: add every child to its parent, (3.73), (3.75), (3.81), (3.83)."""
    for c in reversed(range(len(motions))):
        j = linkage.links[c].parent
        if j < 0:
            continue
        child, parent = motions[c], motions[j]
        R = np.swapaxes(child.Rt, -1, -2)
        distal = carried(R, inner.force[c])
        lever = linkage.links[c].motion.position + parent.slide
        add_to_parent(linkage, motions, c, inner)
        F, T = force[c], moment[c]
        if child.turns:  # R_j,i = R_j S(e)
            F = own(F, c, q=np.cross(child.e, inner.force[c]))
            T = own(T, c, q=np.cross(child.e, inner.moment[c]))
        F = {by: R @ F[by] for by in BY}
        T = {by: R @ T[by] + hats(lever) @ F[by] for by in BY}
        if not parent.turns:
            T = own(T, j, q=np.cross(parent.e, distal))  # the second term that (3.83) lacks
        for by in BY:
            force[j][by] = force[j][by] + F[by]
            moment[j][by] = moment[j][by] + T[by]


def add_load(
    linkage: Linkage,
    motions: list[LinkMotion],
    k: int,
    load: Load,
    inner: InnerForces,
    force: Columns,
    moment: Columns,
) -> None:
    """Steps 9 b, d and e at the loaded link: a load acting on it is subtracted, with its sensitivity to q."""
    to_link = world_rotation(linkage, motions, k)
    push, twist = carried(to_link, load.force), carried(to_link, load.moment)
    reach, e = load.point + motions[k].slide, motions[k].e
    push_q, twist_q = (turned_columns(linkage, motions, k, x) for x in (push, twist))
    moment_q = twist_q + hats(reach) @ push_q
    if not motions[k].turns:
        moment_q = own({"q": moment_q}, k, q=np.cross(e, push))["q"]
    subtract_load(linkage, motions, k, load, inner)
    force["q"] = force["q"] - push_q
    moment["q"] = moment["q"] - moment_q


def turned_columns(linkage: Linkage, motions: list[LinkMotion], k: int, vector: np.ndarray) -> np.ndarray:
    """d/dq of a constant world vector, `vector` in link k: -e_i x vector for each turn on the way (3.77)."""
    total = {"q": np.zeros((3, linkage.dof))}
    to_link, i = np.eye(3), k
    while i >= 0:
        if motions[i].turns:
            total = own(total, i, q=-np.cross(carried(to_link, motions[i].e), vector))
        to_link = to_link @ motions[i].Rt
        i = linkage.links[i].parent
    return total["q"]


def load_partials(
    linkage: Linkage, motions: list[LinkMotion], places: list[int], k: int, load: Load, batch: tuple[int, ...]
) -> LoadPartials:
    """The load's own recursion (3.76), (3.84), (3.88): along the path to the ground only."""
    none = np.zeros((*batch, 3, 3))
    to_link = world_rotation(linkage, motions, k)
    F, T, W = ([none] * linkage.dof for _ in range(3))
    F[k] = W[k] = -to_link
    T[k] = hats(load.point + motions[k].slide) @ F[k]
    c = k
    while (j := linkage.links[c].parent) >= 0:
        R = np.swapaxes(motions[c].Rt, -1, -2)
        lever = linkage.links[c].motion.position + motions[j].slide
        F[j], W[j] = R @ F[c], R @ W[c]
        T[j] = R @ T[c] + hats(lever) @ F[j]
        c = j
    along = [(T[j], W[j]) if m.turns else (F[j], none) for j, m in enumerate(motions)]
    tau = [
        linkage.reduction.T
        @ np.stack(
            [np.broadcast_to(m.e @ x[by], (*batch, 3)) for m, x in zip(motions, along, strict=True)], -2
        )
        for by in range(2)
    ]
    of_links = [stacked_matrices([x[i] for i in places], (*batch, 3, 3)) for x in (F, T, W)]
    return LoadPartials(of_links[0], of_links[1], of_links[2], tau[0], tau[1])


def stacked_matrices(matrices: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """(..., links, 3, m) of one matrix per link, broadcast to `shape` = (..., 3, m)."""
    return np.stack([np.broadcast_to(x, shape) for x in matrices], axis=-3)
