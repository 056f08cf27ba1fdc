"""The command `trajopt warmup`."""

from __future__ import annotations

import click

from problems.cli.command_errors import explained
from problems.cli.output import echo


@click.command()
@click.option("--cluster", metavar="ADDRESS", help="Warm the workers of a Dask cluster up, tcp://host:8786.")
@explained
def warmup(cluster: str | None) -> None:
    """Compile the kernels of rigid-body dynamics, so that the first solve need not.

    Two processes compile them and keep them on disk for all later ones; done again, they are only loaded.
    """
    if cluster is None:
        from dynamics import warmup as of_this_machine

        echo(str(of_this_machine(_tell, two_processes=True)))
        return
    from trajopt.studies.workers.cluster import on_every_worker

    for worker, done in on_every_worker(cluster, _on_worker):
        echo(f"{worker}: {done}")


def _tell(name: str, number: int, count: int) -> None:
    echo(f"{number + 1:>3} of {count}  {name}", err=True)


def _on_worker() -> str:
    """Warm up a worker of a cluster; the text is the answer of the command."""
    from dynamics import warmup as of_this_worker

    return str(of_this_worker())
