"""The facts of phases for the card of a notebook: every phase, its coordinates and mesh, and all links."""

from __future__ import annotations

from typing import Any

from trajopt.base.arguments import list_names, pluralize
from trajopt.base.facts import Facts


def phases_facts(phases: Any) -> Facts:
    """The problems of all phases, and their links."""
    links = [link.name for link in phases.links]
    each = zip(phases.phase_names, phases.problems, strict=True)
    rows = [
        (name, f"{list_names(problem.dynamics.joint_names)}; {problem.trajectory}") for name, problem in each
    ]
    count = pluralize(len(rows), "phase")
    return Facts(f"Phases '{phases.name}': {count}", [*rows, ("links", list_names(links) if links else "")])
