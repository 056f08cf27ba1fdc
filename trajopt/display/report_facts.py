"""The facts of a verification report and of a certificate, for their `repr` and their cards."""

from __future__ import annotations

from typing import Any

from trajopt.base.arguments import pluralize
from trajopt.base.facts import Facts
from trajopt.certificates.certificate import Certificate
from trajopt.certificates.phases_certificate import PhasesCertificate
from trajopt.display.solution_facts import small_plots
from trajopt.verification.phases_report import PhasesReport
from trajopt.verification.report import Report

WORST = 4  # violations that are listed


def report_facts(report: Report | PhasesReport) -> Facts:
    """The verdict, the reason, and the largest numbers of a verification."""
    worst = () if report.holds else report.worst(WORST)
    rows = [
        ("reason", report.reason),
        ("solve", report.title),
        ("accuracy", f"{report.accuracy:.2g} between nodes"),
        ("at nodes", f"largest violation {report.max_violation_nodes:.3g}"),
        ("between", f"largest violation {report.max_violation_dense:.3g}"),
        ("KKT error", f"{report.kkt_error:.3e}"),
        ("simulation", _gap(report.simulation_error)),
        *(("violated", str(violation)) for violation in worst),
    ]
    return Facts(f"Report: {report.verdict}", rows, good=report.holds)


def certificate_facts(certificate: Certificate | PhasesCertificate) -> Facts:
    """The verdict, the first reason against it, and how it was reached."""
    lines, structure = certificate.lines, certificate.structure
    proved = sum(line.holds and line.evidence != "sampled" for line in lines)
    bracket, motion = certificate.bracket, certificate.motion
    rows = [
        ("because", certificate.why_not),
        (
            "method",
            f"{certificate.method}, {pluralize(certificate.rounds, 'round')}, "
            f"tolerance {certificate.tolerance:.1e}",
        ),
        (
            "statements",
            f"{len(lines)} lines, {proved} proved for all times, {len(certificate.failing)} failing",
        ),
        ("motion", "" if motion is None else f"{motion.duration:.12g} s, objective {motion.objective:.12g}"),
        ("structure", certificate.reason if structure is None else f"{structure.arc_count - 1} switches"),
        ("optimum", "" if bracket is None else str(bracket)),
    ]
    return Facts(f"Certificate: {certificate.verdict}", rows, good=certificate.holds)


def report_card(report: Report | PhasesReport) -> str:
    """The facts of a report, and all of its lines behind a click."""
    return report_facts(report).html(details=str(report))


def certificate_card(certificate: Certificate | PhasesCertificate) -> str:
    """The facts of a certificate with small plots of its motion, and all of its lines behind a click."""
    motion: Any = certificate.motion
    parts = getattr(motion, "phases", (motion,))[:2]
    pictures = [] if motion is None else [each for part in parts for each in small_plots(part)]
    return certificate_facts(certificate).html(*pictures, details=str(certificate))


def _gap(error: float | None) -> str:
    return "" if error is None else f"gap {error:.1e}, restarted at every knot"
