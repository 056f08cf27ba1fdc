"""Tolerances that several solvers share; the programs are scaled, so that one is large."""

from __future__ import annotations

import numpy as np

#: Violation up to which a point counts as feasible, distance up to which a limit counts as active, and the
#: first shift of the diagonal of a Hessian.
FEASIBILITY = 1e-6

#: Of a bound, or absolutely: how far interior-point methods move bounds outwards, for an interior to be
#: where two of them meet.
BOUND_RELAXATION = 1e-10

#: Interior-point methods from a start with multipliers: how far they push it off its bounds, of a bound or of
#: the range between two, and the least multiplier; and their first barrier parameter.
WARM_PUSH, WARM_BARRIER = 1e-9, 1e-7

#: Both, where the start solves a program that lacks a few of the rows.
FURTHER_ROWS = 1e-4

#: Of the largest entry of a Hessian: curvature that counts as none.
FLAT = 1e-10

#: What is left of a row of unit length beside others: below, it depends on them. Of the
#: largest entry of a Hessian: negative curvature that a minimum may have.
DEPENDENT = 1e-8

#: Relative error of a sum whose terms are exact up to rounding.
SUM_ROUNDING = 4.0 * float(np.finfo(float).eps)

#: What rounding leaves of numbers of the size of one, in some hundred operations.
ROUNDING = 1e-12

#: Unknowns up to which dense algebra takes less time than sparse.
DENSE = 300

#: Steps after which a method of few steps gives up.
MOST_STEPS = 80

#: Above it, unknowns and shifts of a Hessian grow without limit, as with IPOPT.
ENDLESS = 1e20

#: Of the largest entry of a Hessian: the least that keeps pivots from zero when a diagonal is shifted by it.
REGULARIZATION = 1e-9

#: Growth of a shift that did not help, and of one that barely did.
GROWTH, LITTLE_GROWTH = 8.0, 3.0

#: Of the distance to a limit, or of a multiplier: the most that a step takes.
SHARE = 0.9999

#: Relative decrease that is worth no further step.
LITTLE = 1e-2

#: Of an objective, scaled: what may be left open where objectives are compared.
RANKED = 1e-3
