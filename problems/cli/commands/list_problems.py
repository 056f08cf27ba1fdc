"""The command `trajopt list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from problems.cli.command_errors import Complaint, explained
from problems.cli.completion import ProblemName, parameters_in, source_of
from problems.cli.output import Output, output_options


@click.command(name="list")
@click.argument("name", required=False, type=ProblemName())
@output_options("json", "verbose")
@explained
def list_problems(name: str | None, output: Output) -> None:
    """Show all problems, or the parameters and defaults of one, or of a FILE.py.

    --verbose shows the parameters of all problems.
    """
    from problems import catalogue

    if name is None:
        width = max(len(known) for known in catalogue.names())
        for known, description in catalogue.descriptions().items():
            output.answer(f"{known:<{width}}  {description}")
            if output.verbose:
                values = parameters_in(source_of(known) or "")
                output.answer("".join(f"    {each}={default}\n" for each, default in values.items()))
        output.values(dict(catalogue.descriptions()))
        return
    from problems.cli.problem_file import imported, is_problem_file
    from problems.recipe import defaults_of

    module = imported(Path(name)) if is_problem_file(name) else catalogue.module(name)
    if not callable(getattr(module, "build", None)):
        raise Complaint(f"{name} has no function build: see problems/pendulum_swing_up.py")
    defaults = defaults_of(module.build)
    texts = [text for text in (module.__doc__, module.build.__doc__) if text]
    lines = [f"  {parameter}={spelled(default)}" for parameter, default in defaults.items()]
    output.answer("\n".join([*texts, "\nDefaults:", *lines]))
    output.values({"problem": name, "description": "\n".join(texts), "parameters": defaults})


def spelled(value: Any) -> str:
    """A default as `--set` reads it."""
    import json

    return json.dumps(value).replace("Infinity", "inf")
