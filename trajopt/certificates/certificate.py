"""Certificate of a refined solution: its constraints and costs, switching structure, optimality; its file and
its check.

Of phases every constraint of each, every link, and what they share.

A certificate is checked against its motion: numbers in a file may have been changed.

Switch times and saturated components follow from the motion and its problem; time scaling leaves no unknowns
of the solver; the record of the run has the tolerance. What contradicts them is reported in words.

In saved solutions it is plain JSON values of a `CertificateRecord`.

The keys are those of the first file format; where an attribute was renamed since, the key was kept. The lines
of constraints are not kept: a loaded certificate computes them again from the motion and its problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError, printable
from trajopt.base.facts import Facts
from trajopt.base.files import ArrayFile, finite
from trajopt.base.tolerances import BETWEEN, CLAIMED
from trajopt.certificates.arc_problem import arc_problem, multipliers_read_back
from trajopt.certificates.certificate_record import KEYS, CertificateRecord
from trajopt.certificates.switching_structure import Saturation, Structure, component_label
from trajopt.checks.line import Line, worst_of_each
from trajopt.checks.path_equations import torque_equations
from trajopt.checks.simulation import Simulation, simulate
from trajopt.checks.violations import (
    certificate_lines,
    certified_link,
    disagreements,
    equation_tolerance,
    largest_violations,
    limit_ranges,
    link_violations,
)
from trajopt.display.facts import small_plots
from trajopt.problem.costs_and_constraints import Relaxation
from trajopt.problem.problem import Problem
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import looser_tolerances
from trajopt.solution.solution import Solution, mesh_of, other_nodes
from trajopt.transcription.link_constraints import linked_problems

AT_BOUND = BETWEEN  # of a limit's range: a component that is as near to a bound between nodes is saturated
PLACES = np.array([0.25, 0.5, 0.75])  # of an arc, where saturated components are looked at


def certificate_contradictions(record: CertificateRecord, motion: Solution) -> Iterator[str]:
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


def _structure(record: CertificateRecord, motion: Solution) -> Iterator[str]:
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


#: The end of a search that has spent the iterations it may on added nodes; their number comes before it.
OUT_OF_NODES = "with added nodes, the most allowed"
HEADER = f"{'constraint':<42}{'largest violation':>18}{'tolerance':>11}{'t [s]':>12}  evidence"
SAMPLED = (
    "sampled lines: a violation that lasts at least their resolution is seen, a shorter one may be missed"
)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(CertificateRecord):
    """The checks of a solution and their results; `print` gives the page.

    A line for every component of every constraint, and for every cost, names its evidence
    (`Line`). Lines and violations are computed from the motion on first access and never read from
    a file. What a file holds of it: `CertificateRecord`.

    Of phases every one has such lines, for its problem with its own bounds of parameters and for the copies
    by which it meets others; links are evaluated from the motions alone.

    motion : the solution that is certified, of one motion or of phases, or None
    stored : the certificate was read from a file: all but its lines, violations and simulation is as saved
    phases : (name, certificate) of every phase; none of one motion
    links : the lines of links, of parameters that several phases have, and of the copies that they share
    unlinked : why links cannot be checked, or nothing
    """

    motion: Any = field(default=None, repr=False)
    stored: bool = False
    phases: tuple[tuple[str, Certificate], ...] = ()
    links: tuple[Line, ...] = ()
    unlinked: str = ""

    @property
    def lines(self) -> tuple[Line, ...]:
        """One line for every component of every constraint of the problem; none where there is no problem.

        A saved solution whose problem is neither given nor in the library has none: `unchecked` says why.
        """
        return self._lines_or_reason[0]

    def noting(self, **notes: Any) -> Certificate:
        """The certificate with other fields that say how it was found; lines and violations are kept."""
        known = {name: vars(self)[name] for name in ("_lines_or_reason", "violations") if name in vars(self)}
        noted = replace(self, **notes)
        vars(noted).update(known)
        return noted

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of all phases; of one motion the certificate itself."""
        return tuple(part for _, part in self.phases) or (self,)

    @property
    def unchecked(self) -> str:
        """Reason why there are no lines; empty otherwise."""
        return self._lines_or_reason[1]

    @property
    def undecided(self) -> str:
        """The error that ended it, why nothing can be checked, what contradicts its motion, or nothing."""
        return self.failed or self.unchecked or self._contradiction

    @cached_property
    def _lines_or_reason(self) -> tuple[tuple[Line, ...], str]:
        if self.phases:
            each = ((name, line) for name, part in self.phases for line in part.lines)
            named = (replace(line, name=f"{name}: {line.name}") for name, line in each)
            return (*named, *self.links), self.unlinked
        if self.motion is None:
            return (), "the motion is not at hand"
        of_equations = equation_tolerance(self.equation_tolerance, self.tolerance)
        try:
            return certificate_lines(self.motion, self.tolerance, of_equations), ""
        except TrajoptError as error:
            return (), f"the constraints of the problem cannot be checked: {error}"

    def contradictions(self, motion: Solution) -> Iterator[str]:
        """Every difference between what the certificate reports and a motion, in words."""
        found = tuple(certificate_contradictions(self, motion))
        yield from found
        if self.stored and not found:
            arcs = self.arc_problem(motion)
            mesh = mesh_of(motion) if arcs is None else arcs.trajectory
            if mesh is not None and (wrong := other_nodes(motion, mesh.nodes)):
                yield wrong

    @cached_property
    def _contradiction(self) -> str:
        """The first difference to its motion of a certificate that was read from a file, or nothing.

        Of phases, what is looser than asked, or the first phase that cannot be checked.
        """
        if self.phases:
            unchecked = (f"phase '{name}': {p.unchecked}" for name, p in self.phases if p.unchecked)
            return next(chain(looser_tolerances(self, self.motion.run), unchecked), "")
        if not self.stored or self.motion is None:
            return ""
        return next(chain(self.motion.contradictions, self.contradictions(self.motion)), "")

    @property
    def first_violation(self) -> str:
        """The first line that does not hold, of phases of a link, or the reason of a phase, or nothing."""
        if self.phases:
            links = (link.missed for link in self.links if not link.holds)
            failing = (f"phase '{name}': {part.why_not}" for name, part in self.phases if not part.holds)
            return next(chain(links, failing), "")
        if self.failing:
            return self.failing[0].missed
        if not self.largest_violation <= self.tolerance:  # shorter than the lines' resolution, but known
            worst = self.violations[int(np.argmax([each.value for each in self.violations]))]
            return f"the search met {worst.label}: {worst.value:.3e} at t = {worst.time:.6f} s"
        return ""

    @cached_property
    def violations(self) -> tuple[Line, ...]:
        """The largest violation that the search finds of every component of every path limit, bounded or not.

        Empty where the certification ended in an error, or where the motion or its problem is not at hand.
        """
        if self.phases:
            return tuple(violation for part in self.parts for violation in part.violations)
        if self.motion is None or self.failed or self.unchecked:
            return ()
        return largest_violations(self.motion)

    @property
    def largest_violation(self) -> float:
        """Largest violation of all path limits, in their units; negative with a margin, -inf without any."""
        return float(np.max([violation.value for violation in self.violations], initial=-np.inf))

    @cached_property
    def simulation(self) -> Simulation | None:
        """Forward simulation of the torques, without those by which equations are missed between nodes.

        Integrated on first access; None without forward dynamics, and of phases, which have their own.
        """
        if self.motion is None or self.phases:
            return None
        return simulate(self.motion, without_residual=True)

    def arc_problem(self, motion: Solution) -> Problem | None:
        """The problem on the arcs of the structure that a motion solves; None without a structure."""
        if self.structure is None or self.settings is None:
            return None
        degree = motion.curve.bases[0].degree
        return arc_problem(
            motion.problem, self._arcs_of(self.structure, motion), motion, degree, self.settings
        )

    def multipliers_asked(self, motion: Solution, named: Mapping[str, Array]) -> dict[str, Array]:
        """Multipliers by constraint of the problem that a motion solves, as those of the one asked."""
        arcs = self.arc_problem(motion)
        if arcs is None or self.structure is None:
            return dict(named)
        return multipliers_read_back(named, arcs, motion.problem, self._arcs_of(self.structure, motion))

    @staticmethod
    def _arcs_of(structure: Structure, motion: Solution) -> Structure:
        """The structure on the arcs of a motion, some of which may have been cut."""
        return structure.on(motion.curve.starts)

    @property
    def why_not(self) -> str:
        """The first reason why the certificate does not hold, or nothing."""
        if self.motion is not None and not self.motion.converged:
            return f"the solve did not converge ({self.motion.status.value})"
        return self.undecided or self.first_violation

    @property
    def failing(self) -> tuple[Line, ...]:
        """The lines that do not hold, the worst first, in multiples of their tolerance."""
        return tuple(sorted((line for line in self.lines if not line.holds), key=lambda line: -line.ratio))

    @property
    def resolution(self) -> float:
        """Seconds: the coarsest of the sampled lines; a violation on an interval as long as that is seen."""
        return max((line.resolution for line in self.lines if line.evidence == "sampled"), default=0.0)

    @property
    def holds(self) -> bool:
        """True if every line holds, on a solve and a certification that ended well.

        Sampled lines say nothing of violations shorter than their resolution: see `proved`.
        """
        return not self.why_not

    @property
    def proved(self) -> bool:
        """True if the certificate holds and no line of it is sampled."""
        return self.holds and all(line.evidence != "sampled" for line in self.lines)

    @property
    def verdict(self) -> str:
        """ "proved", "holds, sampled" or "DOES NOT HOLD"."""
        if not self.holds:
            return "DOES NOT HOLD"
        return "proved" if self.proved else "holds, sampled"

    def __repr__(self) -> str:
        return str(self._facts())

    def _repr_html_(self) -> str:
        """The facts with small plots of the motion, and all lines behind a click."""
        parts = () if self.motion is None else self.motion.parts[:2]
        pictures = [plot for part in parts for plot in small_plots(part)]
        return self._facts().html(*pictures, details=str(self))

    def _facts(self) -> Facts:
        """The verdict, the first reason against it, and how it was reached."""
        proved = sum(line.holds and line.evidence != "sampled" for line in self.lines)
        motion, structure, failing = self.motion, self.structure, len(self.failing)
        how = f"{self.method}, {pluralize(self.rounds, 'round')}, tolerance {self.tolerance:.1e}"
        moved = "" if motion is None else f"{motion.duration:.12g} s, objective {motion.objective:.12g}"
        rows = [
            ("because", self.why_not),
            ("method", how),
            ("constraints", f"{len(self.lines)} lines, {proved} proved for all times, {failing} failing"),
            ("motion", moved),
            ("structure", self.reason if structure is None else f"{structure.arc_count - 1} switches"),
            ("optimum", "" if self.bracket is None else str(self.bracket)),
        ]
        return Facts(f"Certificate: {self.verdict}", rows, good=self.holds)

    @property
    def _largest_tolerance(self) -> str:
        """The largest tolerance of a constraint over time, in its unit, where it is above that of limits."""
        over_time = [line for line in self.lines if line.evidence in ("enclosure", "sampled")]
        constraints = [line for line in over_time if not line.name.startswith("cost '")]
        largest = max(constraints, key=lambda line: line.tolerance, default=None)
        if largest is None or largest.tolerance <= self.tolerance:
            return ""
        return f", up to {largest.tolerance:.1e} of {largest.label}"

    @property
    def headline(self) -> list[str]:
        """The first lines of the page."""
        motion, reason = self.motion, self.reason
        sampled = f", resolution {self.resolution:.1e} s" if self.holds and not self.proved else ""
        lines = [
            f"certificate: {self.verdict} ({self.method}, {pluralize(self.rounds, 'round')}, "
            f"tolerance {self.tolerance:.1e}{self._largest_tolerance}{sampled})"
        ]
        if not self.holds:
            lines.append(f"because: {self.why_not}")
            lines += [f"to do: {self._advice}"] if self._advice else []
        if motion is not None:
            lines.append(f"duration {motion.duration:.12g} s, objective {motion.objective:.12g}")
            if not self.unchecked:
                lines += Relaxation.lines([each for part in motion.parts for each in part.relaxations])
        return lines + ([f"no switching structure: {reason}"] if reason else [])

    def optimality(self, when: str) -> str:
        """The residuals of the optimality conditions, in a line; when : of which solve they are."""
        kkt = self.motion.kkt
        return (
            f"KKT residuals{when}: stationarity {kkt.stationarity:.1e}, primal {kkt.primal:.1e}, "
            f"complementarity {kkt.complementarity:.1e}"
        )

    @property
    def _advice(self) -> str:
        """Advice for a certificate that does not hold, or nothing."""
        if "time limit" in self.reason:
            return "give it more time, a larger Certified(time_limit=...)"
        if OUT_OF_NODES in self.reason:
            return "allow more iterations, Certified(settings=SearchSettings(node_total=...))"
        if self.motion is not None and not self.motion.converged:
            return "solution.diagnose() names the limits in conflict"
        if self.undecided:
            return ""
        return "solve on more intervals, or allow more: a larger tol, more rounds"

    def summary(self) -> dict[str, object]:
        """The numbers that `summary.json` holds."""
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "why_not": self.why_not,
            "resolution": float(self.resolution),
            "statements": len(self.lines),
            "failing": [line.label for line in self.failing],
            "method": self.method,
            "tolerance": self.tolerance,
            "rounds": self.rounds,
            "reason": self.reason,
            "largest_excess": finite(self.largest_violation),
            "switches": None if self.structure is None else self.structure.arc_count - 1,
            "wrong_sign": None if self.signs is None else self.signs.wrong,
            "slowed": self.slowed,
            "overstep_gain": None if self.gain is None else finite(self.gain.of_oversteps),
            "margin_cost": None if self.gain is None else finite(self.gain.of_margins),
            "bracket": None if self.bracket is None else [self.bracket.lower, self.bracket.upper],
        }

    def __str__(self) -> str:
        if self.phases:
            return printable("\n".join([*self.headline, *self._of_phases()]))
        return printable("\n".join([*self.headline, *self.table, *self._structure(), *self._optimality()]))

    def _of_phases(self) -> Iterator[str]:
        """The tables of all phases, the links, and how optimal they are together."""
        for name, part in self.phases:
            yield from ("", f"phase '{name}': {part.verdict}", *part.table)
        if self.links:
            yield from ("", "links", *map(row, self.links))
        yield from ("", self.optimality(" of all phases, of the solve"))
        yield from (f"phase '{name}': {part.simulated}" for name, part in self.phases)

    @property
    def table(self) -> list[str]:
        """The lines of all constraints with their heading, and what is said of them, as text."""
        lines = ["", HEADER]
        lines += [row(line) for line in worst_of_each(self.lines, attrgetter("ratio"))]
        if not self.lines:
            lines.append(self.unchecked)
        if any(line.evidence == "sampled" for line in self.lines):
            lines.append(SAMPLED)
        notes = {line.note: line.name for line in self.lines if line.note}
        lines += [f"{name}: {note}" for note, name in notes.items()]
        margins = [size for limit in (self.settings.margins if self.settings else ()) for size in limit]
        if any(size > 0.0 for size in margins):
            lines.append(f"limits were tightened by up to {max(margins):.1e} so that they hold between nodes")
        if self.gain is not None:
            lines.append(f"{self.gain}{' (as saved)' * self.stored}")
        if self.bracket is not None:
            lines.append(f"{self.bracket}{' (as saved)' * self.stored}")
        if self.slowed:
            lines.append(
                f"time scaling: the duration was lengthened by {self.slowed:.1e} of itself so that they hold"
            )
        return lines

    def _structure(self) -> list[str]:
        if self.structure is None or self.motion is None or self.unchecked:
            return []
        lines = ["", f"{'arc':<5}{'from [s]':>14}{'to [s]':>14}  saturated"]
        times = self.structure.times
        for number, saturated in enumerate(self.structure.saturated):
            bounds = ", ".join(self._bound(s) for s in sorted(saturated)) or "nothing"
            lines.append(f"{number:<5}{times[number]:>14.9f}{times[number + 1]:>14.9f}  {bounds}")
        return lines

    def _bound(self, saturation: Saturation) -> str:
        assert self.motion is not None
        limits = self.motion.problem.path_limits()
        if not saturation.exists(limits):
            return f"limit {saturation.limit}, {saturation.component}, which the problem does not have"
        return f"{component_label(self.motion, saturation)} = {saturation.bound(limits):+.6g}"

    def _optimality(self) -> list[str]:
        if self.motion is None or self.unchecked:
            return []
        when = " before time scaling" if self.slowed else ""
        origin = "as saved with the structure" if self.stored else "of the solve"
        return ["", self.optimality(f"{when}, {origin}"), *self._signs(), self.simulated]

    def _signs(self) -> list[str]:
        if self.signs is None:
            return []
        wrong = f"largest wrong impulse {self.signs.wrong:.1e}, {self.signs.where}"
        lines = [
            f"signs of multipliers (Pontryagin){', as saved' * self.stored}: {self.signs.checked} saturated "
            "arcs checked, " + (wrong if self.signs.wrong else "all right")
        ]
        if self.signs.unchecked:
            lines.append(f"signs not checked: {self.signs.unchecked} arcs with a position at its limit")
        if self.signs.free > 0.0:
            lines.append(
                f"for {self.signs.free:.6f} s fewer limits are saturated than there are joints: the optimal "
                "objective is determined, the motion is the one of least effort, one motion among many"
            )
        return lines

    @property
    def simulated(self) -> str:
        """The gaps of the forward simulation, in words."""
        if self.simulation is None:
            return "forward simulation: the dynamics offers no forward dynamics"
        equations = torque_equations(self.motion.problem) if self.motion is not None else []
        residual = ", without the residuals of equations" if equations else ""
        return (
            f"forward simulation of the torques{residual}: gap {self.simulation.restarted:.1e} restarted at "
            f"knots, {self.simulation.end_to_end:.1e} end to end"
        )


def row(line: Line) -> str:
    """A line of the table: label, violation, tolerance, time, evidence."""
    how = f"{line.evidence}, {line.resolution:.1e} s" if line.evidence == "sampled" else line.evidence
    fails = "" if line.holds else "  FAILS"
    return f"{line.label:<42}{line.value:>18.3e}{line.tolerance:>11.1e}{line.time:>12.6f}  {how}{fails}"


NAMES = {key: name for name, key in KEYS.items()}


def restored(file: ArrayFile, saved: Mapping[str, object], motion: Solution) -> Solution:
    """The motion with the certificate that its file holds; SolutionFileError for one that is none."""
    named = {NAMES.get(key, key): value for key, value in saved.items()}
    if isinstance(settings := named.get("settings"), Mapping):
        named["settings"] = {NAMES.get(key, key): value for key, value in settings.items()}
    kept = file.converted(named, CertificateRecord, "certificate")
    positive = 0.0 < kept.tolerance < math.inf and (kept.equation_tolerance or 1.0) > 0.0
    if not (positive and kept.rounds >= 0 and kept.slowed >= 0.0):
        file.refuse("certificate: tolerances that are not positive, rounds or time scaling below zero")
    if (kept.equation_tolerance or 0.0) > 1.0 or kept.slowed > 1.0:
        file.refuse("certificate: an equation or the duration is off by more than all of itself")
    if kept.structure is not None and not kept.structure.is_one:
        file.refuse("certificate: times and saturated components of no switching structure")
    return replace(motion, certificate=Certificate(**vars(kept), motion=motion, stored=True))


def certificate_of_phases(solution: PhasesSolution) -> Certificate | None:
    """The certificate of a solution of phases; None where nothing was certified."""
    certification, phases, parts = solution.certification, solution.known_phases, solution.phases
    if certification is None:
        return None
    lines: tuple[Line, ...] = ()
    unchecked = "" if phases else "the phases are not at hand: pass them, PhasesSolution.load(path, phases)"
    if phases is not None:
        try:
            linked = linked_problems(phases)
            # Without the values at which shared parameters are held: their own bounds are constraints, too.
            each = zip(parts, linked.problems, strict=True)
            parts = tuple(replace(part, known_problem=own) for part, own in each)
            links = (*link_violations(parts, phases), *disagreements(parts, linked))
            lines = tuple(certified_link(link, certification.tolerance) for link in links)
        except TrajoptError as error:
            unchecked = f"the links cannot be checked: {error}"
    together = Certificate(
        certification.tolerance,
        "added nodes",
        None,
        certification.rounds,
        certification.reason,
        equation_tolerance=certification.equation_tolerance,
        motion=solution,
    )
    each = [replace(together, motion=part) for part in parts]
    named = tuple(zip(solution.names, each, strict=True))
    return replace(together, failed=certification.failed, phases=named, links=lines, unlinked=unchecked)
