"""Tolerances: what a report's PASS and a certificate allow, of rounding, and of reported numbers.

`verification/report.py` and `report.py` compare with the first ones.
"""

from __future__ import annotations

#: Of its scale: the tolerance of equations at single times, of what holds at nodes, of jumps.
AT_TIMES = 1e-6

#: Of the scale of an equation, an integral or a cost, and of the range of a limit: what `verify` allows
#: between nodes, the most that a certificate allows, and what `solve` halves intervals for.
BETWEEN = 1e-2

#: Of a limit's size: by how much `solve` and `verify` let limits be exceeded between nodes.
LIMIT_ACCURACY = 1e-3

#: The KKT error that PASS allows, and the largest after a solve whose own tolerance was loose.
OPTIMAL, LOOSEST = 1e-5, 1e-2

#: Relative difference of one number that was computed in two ways. Sums of some hundred terms, and functions
#: of them, keep ten digits; numbers that differ in meaning differ by more.
AGREEMENT = 1e-9

#: Relative difference of two objectives below which they are those of one optimum.
SAME_OPTIMUM = 1e-6

#: Times an error that was estimated, or that a solve left: what is taken to be of the same size.
ESTIMATED = 10.0

#: Takes the place of a divisor that is zero: quotients by it are finite, and above every tolerance.
NOT_ZERO = 1e-300

# Of a limit's range, the duration, the largest unknown or multiplier: how far what a solution reports may be
# from what its motion gives. The way from a motion to unknowns and back leaves rounding.
CLAIMED = 1e-6

#: Of a size: half of the digits of a number. Iterations that have settled, values that cancelled and curves
#: of solves are known no better.
HALF_OF_DIGITS = 1e-8

#: Of the largest entry or singular value of equations, scaled: what is left of one that repeats others.
REPEATED = 1e-10

#: In SI units, of coordinates and limits of size one: what rounding of control points leaves. A coordinate
#: that travels less does not move, a limit that is missed by less holds.
CONTROL_POINT_ROUNDING = 1e-9
