"""The command `trajopt`: list, show, solve and sweep problems, time motions, check and show answers.

Exit status 0: converged. 1: not converged, everything written all the same. 2: misuse, explained in one
paragraph on standard error. Results go to standard output, progress and complaints to standard error.
"""

from __future__ import annotations

import click

from problems.cli.commands.compare import compare
from problems.cli.commands.completion_script import completion
from problems.cli.commands.identify import identify
from problems.cli.commands.inverse_dynamics import inverse_dynamics
from problems.cli.commands.list_problems import list_problems
from problems.cli.commands.move import move
from problems.cli.commands.muscles import muscles
from problems.cli.commands.new import new
from problems.cli.commands.replay import replay
from problems.cli.commands.retime import retime
from problems.cli.commands.saved_solution import plot, verify
from problems.cli.commands.show import show
from problems.cli.commands.solve import solve
from problems.cli.commands.sweep import sweep
from problems.cli.commands.view import view
from problems.cli.commands.warmup import warmup
from problems.cli.versions import print_versions


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=print_versions,
    help="Print the versions of trajopt, its solvers and the packages it computes with.",
)
def main() -> None:
    """Solve trajectory optimization problems, check the answers and draw them."""


SOLVING = list_problems, new, show, solve, sweep, move, retime, identify, inverse_dynamics, muscles
for command in (*SOLVING, verify, plot, compare, view, replay, warmup, completion):
    main.add_command(command)


if __name__ == "__main__":
    main()
