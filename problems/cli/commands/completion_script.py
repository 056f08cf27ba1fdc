"""The command `trajopt completion`: prints what a shell needs to complete names."""

from __future__ import annotations

import click

from problems.cli.command_errors import explained
from problems.cli.completion import SHELLS, VARIABLE
from problems.cli.output import echo


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
@explained
def completion(context: click.Context, shell: str) -> None:
    r"""Print the script by which a shell completes commands, options, problems, parameters and files.

    \b
    bash  in ~/.bashrc:                   eval "$(trajopt completion bash)"
    zsh   in ~/.zshrc, after compinit:    eval "$(trajopt completion zsh)"
    fish  in ~/.config/fish/config.fish:  trajopt completion fish | source
    """
    program = context.find_root().command
    echo(SHELLS[shell](program, {}, "trajopt", VARIABLE).source())
