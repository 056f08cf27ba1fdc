"""Checks a certificate against its motion: numbers in a file may have been changed.

Switch times and saturated components follow from the motion and its problem; time scaling leaves no unknowns
of the solver; the record of the run has the tolerance. What contradicts them is reported in words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajopt.base.tolerances import BETWEEN, CLAIMED
from trajopt.certificates.certificate_record import CertificateRecord
from trajopt.certificates.limit_violations import limit_ranges
from trajopt.solution.asked_tolerances import looser_tolerances
from trajopt.solution.solution import SolutionData

AT_BOUND = BETWEEN  # of a limit's range: a component that is as near to a bound between nodes is saturated
PLACES = np.array([0.25, 0.5, 0.75])  # of an arc, where saturated components are looked at


def certificate_contradictions(record: CertificateRecord, motion: SolutionData) -> Iterator[str]:
    """Every difference between a certificate and its motion, in words.

    Raises TrajoptError where the problem of the motion is not known.
    """
    yield from looser_tolerances(record, motion.run)
    if (record.slowed > 0.0) is not (motion.point is None) and motion.converged:
        scaled = f"lengthened by {record.slowed:g} of itself" if record.slowed else "not lengthened"
        left = "no" if motion.point is None else "the solver's"
        yield f"certificate: the duration was {scaled}, but the motion has {left} unknowns of a solve"
    if record.bracket is not None:
        lower, upper = record.bracket.lower, record.bracket.upper
        size = CLAIMED * abs(motion.objective)
        if not lower <= motion.objective + size or not upper >= motion.objective - size:
            yield f"certificate: its bracket, {lower:.9g} to {upper:.9g}, is not of {motion.objective:.9g}"
    yield from _structure(record, motion)


def _structure(record: CertificateRecord, motion: SolutionData) -> Iterator[str]:
    """Switch times that are not the arcs', and components that are not at the bound they should be at."""
    structure, limits = record.structure, motion.problem.path_limits()
    if structure is None:
        return
    switches, starts = np.asarray(structure.times), motion.curve.starts
    gaps = np.abs(switches[:, None] - starts).min(axis=1)  # an arc may consist of several of the motion's
    whole = switches.size == len(structure.saturated) + 1 and np.all(np.diff(switches) > 0.0)
    if not whole or gaps.max() > CLAIMED * motion.duration:
        yield f"certificate: switches that are not those of the motion's {starts.size - 1} arcs"
        return
    for arc, saturated in enumerate(structure.saturated):
        times = switches[arc] + PLACES * (switches[arc + 1] - switches[arc])
        for each in sorted(saturated):
            if not each.exists(limits):
                yield f"certificate: a limit {each.limit}, {each.component} that the problem does not have"
                continue
            limit = limits[each.limit]
            bound = (limit.upper if each.side > 0 else limit.lower)[each.component]
            values = motion.value(limit.term, times)[:, each.component]
            if not np.all(np.abs(values - bound) <= AT_BOUND * limit_ranges(limit)[each.component]):
                yield f"certificate: {limit.name} is not at its bound {bound:.6g} on arc {arc}"
