"""The command `trajopt list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from problems.cli.misuse import Complaint, explained


@click.command(name="list")
@click.argument("name", required=False)
@explained
def list_problems(name: str | None) -> None:
    """Show all problems, or the parameters and defaults of one, or of a FILE.py."""
    from problems import catalogue

    if name is None:
        width = max(len(known) for known in catalogue.names())
        for known, description in catalogue.descriptions().items():
            click.echo(f"{known:<{width}}  {description}")
        return
    from problems.cli.problem_file import imported, is_problem_file
    from problems.recipe import defaults_of

    module = imported(Path(name)) if is_problem_file(name) else catalogue.module(name)
    if not callable(getattr(module, "build", None)):
        raise Complaint(f"{name} has no function build: see problems/pendulum_swing_up.py")
    for text in (module.__doc__, module.build.__doc__):
        if text:
            click.echo(text)
    click.echo("\nDefaults:")
    for parameter, default in defaults_of(module.build).items():
        click.echo(f"  {parameter}={spelled(default)}")


def spelled(value: Any) -> str:
    """A default as `--set` reads it."""
    import json

    return json.dumps(value).replace("Infinity", "inf")
