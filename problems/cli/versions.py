"""The option `--version` of the command `trajopt`: what an answer depends on, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from problems.cli.output import echo

if TYPE_CHECKING:
    from trajopt.solvers.run import RegisteredSolver


def print_versions(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions and end, where `--version` was given."""
    if wanted and not context.resilient_parsing:
        echo("\n".join(f"{name} {version}" for name, version in versions().items()))
        context.exit()


def versions() -> dict[str, str]:
    """Name -> version of trajopt, then of its solvers, Python and the packages that it computes with."""
    from trajopt.solution.records import installed_versions
    from trajopt.solvers.run import SOLVERS

    installed = dict(installed_versions())  # a copy: it is kept for the whole process
    solvers = {name: version_of(entry) for name, entry in SOLVERS.items()}
    return {"trajopt": installed.pop("trajopt"), **solvers, **installed}


def version_of(entry: RegisteredSolver) -> str:
    """The version of a registered solver, or why there is none."""
    try:
        return entry.version
    except ImportError as error:
        return f"not installed: {error}"
