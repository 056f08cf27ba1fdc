"""Tolerances that several solvers share; the programs are scaled, so that one is large."""

from __future__ import annotations

#: Violation up to which a point counts as feasible, and distance up to which a limit counts as active.
FEASIBILITY = 1e-6

#: Of a bound, or absolutely: how far interior-point methods move bounds outwards, for an interior to be
#: where two of them meet.
BOUND_RELAXATION = 1e-10

#: Interior-point methods from a start with multipliers: how far they push it off its bounds, of a bound or of
#: the range between two, and the least multiplier; and their first barrier parameter.
WARM_PUSH, WARM_BARRIER = 1e-9, 1e-7

#: Of the largest entry of a Hessian: curvature that counts as none.
FLAT = 1e-10

#: What is left of a row of unit length beside others: below, it depends on them.
DEPENDENT = 1e-8

#: What rounding leaves of numbers of the size of one, in some hundred operations.
ROUNDING = 1e-12

#: Steps after which a method of few steps gives up.
MOST_STEPS = 80

#: Above it, unknowns and shifts of a Hessian grow without limit, as with IPOPT.
ENDLESS = 1e20
