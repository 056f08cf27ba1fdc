"""Kernels: the points of paths in a pose, with those on surfaces.

Surfaces are tried one after the other on every straight part of their range, and the part that lengthens the
path least, or the first that cuts the surface, is replaced; with several surfaces the round is repeated until
the length changes by less than 0.5 mm, at most eight times. These are the rules of OpenSim's GeometryPath:
where the number of rounds changes, lengths jump by what the last round was worth. OpenSim's points moreover
keep their place in the world from the first time that it is asked for, so that later rounds move the ends on
a surface, and the length on it, but not the straight parts: `keep` does the same.
"""

from __future__ import annotations

import math

import numpy as np

from dynamics.kernels.compile import inlined, kernel, subroutine
from dynamics.kernels.spatial_algebra import add, dot, rotate, rotate_back, sub
from dynamics.muscles.wraps.cylinder import INSIDE, MANDATORY, NO_WRAP, WRAPPED, cylinder
from dynamics.muscles.wraps.ellipsoid import ellipsoid
from dynamics.muscles.wraps.sphere import sphere
from dynamics.muscles.wraps.torus import torus

ROUNDS = 8
SETTLED = 5e-4  # m
CYLINDER, SPHERE, ELLIPSOID, INACTIVE = 0, 1, 2, -1  # else a torus


@inlined
def row3(a, i):
    return a[i, 0], a[i, 1], a[i, 2]


@subroutine
def distance(a, b):
    d = sub(a, b)
    return math.sqrt(dot(d, d))


@subroutine
def wrapped(p1, p2, origin, axes, surface, kinds, sizes, quadrants, method, alone):
    """The wrap of a straight part in world axes over a surface: answer, length on it, both tangent points."""
    a, b = rotate_back(axes, sub(p1, origin)), rotate_back(axes, sub(p2, origin))
    axis, side = quadrants[surface, 0], quadrants[surface, 1]
    x, y, z = row3(sizes, surface)
    if kinds[surface] == CYLINDER:
        answer, length, r1, r2 = cylinder(a, b, x, y, axis, side, alone)
    elif kinds[surface] == SPHERE:
        answer, length, r1, r2 = sphere(a, b, x, axis, side)
    elif kinds[surface] == ELLIPSOID:
        answer, length, r1, r2 = ellipsoid(a, b, (x, y, z), axis, side, method)
    else:
        answer, length, r1, r2 = torus(a, b, x, y, axis, side, alone)
    return answer, length, add(origin, rotate(axes, r1)), add(origin, rotate(axes, r2))


@subroutine
def without(order, count, first):
    """Take the two points of a wrap out of a path; how many stay."""
    for i in range(count):
        if order[i] == first:
            for j in range(i, count - 2):
                order[j] = order[j + 2]
            return count - 2
    return count


@subroutine
def length_of(order, count, ends, seen, surface_of, on_surface):
    """Length of a path, with the stored lengths on surfaces; its points are seen then."""
    total = 0.0
    for i in range(count):
        seen[order[i]] = True
    for i in range(1, count):
        a, b = order[i - 1], order[i]
        if surface_of[a] >= 0 and surface_of[a] == surface_of[b]:
            total += on_surface[b]
        else:
            total += distance(row3(ends, a), row3(ends, b))
    return total


@subroutine
def apply_wraps(
    order, count, points, active, at, ends, seen, surface_of, on_surface, wraps, surfaces, frames, origins,
    keep,
):  # fmt: skip
    """Put the points of a path on its surfaces into `order`; their number then, and the path's length.

    points : how many the path has;  wraps : (w, 4) surface, first and last point, method
    at : (points + 2 w, 3) places, those of wrap i in rows points + 2 i and the next
    ends : the same, from which straight parts are measured;  keep : whether these stay once they were seen
    frames, origins : of the surfaces in the world
    """
    kinds, sizes, quadrants = surfaces
    w = len(wraps)
    turn = np.arange(w)
    answers = np.zeros(w, np.int64)
    last_length = math.inf
    length = 0.0
    for round_ in range(ROUNDS if w > 1 else 1):
        for i in range(w):
            answers[i] = NO_WRAP
            own = turn[i]
            surface, first = wraps[own, 0], points + 2 * own
            count = without(order, count, first)
            if kinds[surface] == INACTIVE:
                continue
            begin, end = wraps[own, 1], wraps[own, 2]
            while begin <= end and not active[begin]:
                begin += 1
            while end >= begin and not active[end]:
                end -= 1
            if begin > end:
                return count, length_of(order, count, ends, seen, surface_of, on_surface)
            start = stop = 0
            for j in range(count):
                if order[j] == begin:
                    start = j
                if order[j] == end:
                    stop = j
            place, best, best_length = -1, math.inf, 0.0
            best1 = best2 = (0.0, 0.0, 0.0)
            origin, frame = row3(origins, surface), frames[surface]
            axes = row3(frame, 0), row3(frame, 1), row3(frame, 2)
            for j in range(start, stop):
                a, b = order[j], order[j + 1]
                if surface_of[a] >= 0 and surface_of[a] == surface_of[b]:
                    continue
                p1, p2 = row3(at, a), row3(at, b)
                answer, along, r1, r2 = wrapped(
                    p1, p2, origin, axes, surface, kinds, sizes, quadrants, wraps[own, 3], w == 1
                )
                answers[i] = answer
                if answer == MANDATORY:
                    place, best_length, best1, best2 = j + 1, along, r1, r2
                    break
                if answer == WRAPPED:
                    e1, e2 = row3(ends, a), row3(ends, b)
                    longer = distance(e1, r1) + along + distance(e2, r2) - distance(e1, e2)
                    if longer < best:
                        best = longer
                        place, best_length, best1, best2 = j + 1, along, r1, r2
            if place >= 0:
                for j in range(count - 1, place - 1, -1):
                    order[j + 2] = order[j]
                order[place], order[place + 1] = first, first + 1
                count += 2
                at[first, 0], at[first, 1], at[first, 2] = best1
                at[first + 1, 0], at[first + 1, 1], at[first + 1, 2] = best2
                for row in (first, first + 1):
                    if not (keep and seen[row]):
                        ends[row, 0], ends[row, 1], ends[row, 2] = row3(at, row)
                on_surface[first + 1] = best_length
        length = length_of(order, count, ends, seen, surface_of, on_surface)
        if abs(length - last_length) < SETTLED:
            break
        last_length = length
        if round_ == 0 and w > 1 and answers[0] == NO_WRAP and answers[1] == INSIDE:
            turn[0], turn[1] = 1, 0
            count = without(order, count, points)
    return count, length


@kernel
def path_points(places, active, origins, frames, tables, surfaces, spans, keep):
    """Paths in K poses: lengths (K, m), how many points each has; link, row, place and end of each.

    places : (K, points, 3) in the world, and active : (K, points), whether each belongs to its path
    origins : (K, surfaces, 3) and frames : (K, surfaces, 3, 3), their axes one after the other, in the world
    tables, surfaces, spans : as `PackedPaths` makes them
    keep : whether straight parts end where the first round of wraps put them
    """
    links, wraps = tables
    kinds, sizes, quadrants, surface_links = surfaces
    point_spans, wrap_spans, widest = spans
    poses, m = len(places), len(point_spans) - 1
    lengths, counts = np.zeros((poses, m)), np.zeros((poses, m), np.int64)
    found_links = np.full((poses, m, widest), -1, np.int64)
    found_rows = np.full((poses, m, widest), -1, np.int64)
    found, found_ends = np.zeros((poses, m, widest, 3)), np.zeros((poses, m, widest, 3))
    ends, seen = np.zeros((widest, 3)), np.zeros(widest, np.bool_)
    at, order = np.zeros((widest, 3)), np.zeros(widest, np.int64)
    surface_of, on_surface = np.zeros(widest, np.int64), np.zeros(widest)
    for k in range(poses):
        for path in range(m):
            first, points = point_spans[path], point_spans[path + 1] - point_spans[path]
            on = active[k, first : first + points]
            own_wraps = wraps[wrap_spans[path] : wrap_spans[path + 1]]
            count = 0
            seen[:] = False
            for i in range(points):
                surface_of[i] = -1
                for c in range(3):
                    at[i, c] = ends[i, c] = places[k, first + i, c]
                if on[i]:
                    order[count] = i
                    count += 1
            for i in range(len(own_wraps)):
                surface_of[points + 2 * i] = surface_of[points + 2 * i + 1] = own_wraps[i, 0]
            if len(own_wraps):
                count, length = apply_wraps(
                    order, count, points, on, at, ends, seen, surface_of, on_surface, own_wraps,
                    (kinds, sizes, quadrants), frames[k], origins[k], keep,
                )  # fmt: skip
            else:
                length = length_of(order, count, ends, seen, surface_of, on_surface)
            lengths[k, path], counts[k, path] = length, count
            for i in range(count):
                point = order[i]
                on_wrap = point >= points
                found_rows[k, path, i] = -1 if on_wrap else first + point
                found_links[k, path, i] = (
                    surface_links[surface_of[point]] if on_wrap else links[first + point]
                )
                for c in range(3):
                    found[k, path, i, c], found_ends[k, path, i, c] = at[point, c], ends[point, c]
    return lengths, counts, found_links, found_rows, found, found_ends
