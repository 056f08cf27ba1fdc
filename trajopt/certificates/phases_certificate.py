"""Certificate of phases: every constraint of every phase, every link, and what they share, with evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from trajopt.base.errors import TrajoptError, printable
from trajopt.certificates.certificate import Certificate, row
from trajopt.certificates.certificate_lines import CertifiedLines, certified_link
from trajopt.checks.line import Line
from trajopt.checks.violations import disagreements, link_violations
from trajopt.solution.asked_tolerances import looser_tolerances
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records import Certification
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import KKT
from trajopt.transcription.links.link_constraints import linked_problems


@dataclass(frozen=True, eq=False, repr=False)
class PhasesCertificate(CertifiedLines):
    """The checks of a solution of phases and their results; `print` gives the page.

    A phase has the lines of a `Certificate`, for its problem with its own bounds of parameters, and for the
    copies by which it meets others. Links are evaluated from the motions alone. Lines are computed on first
    access and never read from a file.

    certification : how, with which tolerances
    names, phases : of every phase its name and its certificate
    links : the lines of links, of parameters that several phases have, and of the copies that they share
    kkt : residuals of the optimality conditions of all phases together
    unchecked : why links cannot be checked, or nothing
    motion : the solution of phases
    """

    certification: Certification
    names: tuple[str, ...]
    phases: tuple[Certificate, ...]
    links: tuple[Line, ...]
    kkt: KKT
    unchecked: str
    motion: Any
    method = "added nodes"
    structure = bracket = None

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the phases."""
        return self.phases

    @property
    def named_parts(self) -> tuple[tuple[str, Certificate], ...]:
        """(name, certificate) of every phase."""
        return tuple(zip(self.names, self.phases, strict=True))

    @property
    def tolerance(self) -> float:
        """Largest violation of a limit with which the certificate holds, in the limit's own unit."""
        return self.certification.tolerance

    @property
    def rounds(self) -> int:
        """Number of times that nodes were added."""
        return self.certification.rounds

    @property
    def reason(self) -> str:
        """Reason why no switching structure was confirmed."""
        return self.certification.reason

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of all phases, whose names begin with the phase's, and those of the links."""
        return self._lines

    @cached_property
    def _lines(self) -> tuple[Line, ...]:
        of_phases = (
            replace(line, name=f"{name}: {line.name}")
            for name, part in self.named_parts
            for line in part.lines
        )
        return (*of_phases, *self.links)

    @property
    def undecided(self) -> str:
        """The error that ended the certification, or why constraints cannot be checked, or nothing."""
        of_phase = (f"phase '{name}': {part.unchecked}" for name, part in self.named_parts if part.unchecked)
        looser = next(looser_tolerances(self.certification, self.motion.run), "")
        return self.certification.failed or self.unchecked or looser or next(of_phase, "")

    @property
    def first_violation(self) -> str:
        """The first line of a link, or reason of a phase, that does not hold, or nothing."""
        for line in self.links:
            if not line.holds:
                return line.missed
        failing = (f"phase '{name}': {part.why_not}" for name, part in self.named_parts if not part.holds)
        return next(failing, "")

    def __str__(self) -> str:
        lines = self.headline
        for name, part in self.named_parts:
            lines += ["", f"phase '{name}': {part.verdict}", *part.table]
        if self.links:
            lines += ["", "links", *(row(line) for line in self.links)]
        lines += ["", self.optimality(" of all phases, of the solve")]
        for name, part in self.named_parts:
            lines.append(f"phase '{name}': {part.simulated}")
        return printable("\n".join(lines))


def certificate_of_phases(solution: PhasesSolutionData) -> PhasesCertificate | None:
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
            found = (*link_violations(parts, phases), *disagreements(parts, linked))
            lines = tuple(certified_link(link, certification.tolerance) for link in found)
        except TrajoptError as error:
            unchecked = f"the links cannot be checked: {error}"
    return PhasesCertificate(
        certification=certification,
        names=solution.names,
        phases=tuple(_of_phase(certification, part) for part in parts),
        links=lines,
        kkt=solution.kkt,
        unchecked=unchecked,
        motion=solution,
    )


def _of_phase(certification: Certification, motion: SolutionData) -> Certificate:
    return Certificate(
        certification.tolerance,
        "added nodes",
        None,
        certification.rounds,
        certification.reason,
        motion=motion,
        equation_tolerance=certification.equation_tolerance,
    )
