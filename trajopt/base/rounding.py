"""Tolerance for rounding errors, shared by all packages."""

from __future__ import annotations

#: Relative difference of one number that was computed in two ways. Sums of some hundred terms, and functions
#: of them, keep ten digits; numbers that differ in meaning differ by more.
AGREEMENT = 1e-9

#: Of the scale of an equation: what `verify` allows between nodes, and `solve` halves intervals for.
BETWEEN = 1e-2

#: Takes the place of a divisor that is zero: quotients by it are finite, and above every tolerance.
NOT_ZERO = 1e-300

# Of a limit's range, the duration, the largest unknown or multiplier: how far what a solution reports may be
# from what its motion gives. The way from a motion to unknowns and back leaves rounding.
CLAIMED = 1e-6
