"""The workers of a study: processes of its own, an executor of the user's, or those of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Any

from trajopt.base.arguments import check_count, short_repr
from trajopt.base.errors import OptionError, warn_user
from trajopt.studies.workers import cluster
from trajopt.studies.workers.worker_processes import ThisProcess, WorkerProcesses

MOST_PROCESSES = 1024
UNKNOWN_COUNT = 20  # workers that are assumed on an executor that does not say how many it has
PER_WORKER = 3  # calls that are on their way to a worker, so that none waits for the next one

Where = Executor | str | Any  # an executor, the address of a Dask scheduler, or a distributed.Client


class Workers:
    """The workers of one study: they take calls, are stopped together, and report how many of them died.

    count : how many there are
    own : whether they were started for this study, so that stopping ends them at once
    """

    def __init__(self, executor: Executor, count: int, own: bool = False) -> None:
        self._executor, self.count, self._own = executor, count, own
        client = getattr(executor, "_client", None) if cluster.is_dask(executor) else None
        self._presence = None if client is None else cluster.Presence(client)

    @property
    def in_flight(self) -> int:
        """Number of calls that are handed over at a time."""
        return 1 if isinstance(self._executor, ThisProcess) else PER_WORKER * self.count

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Hand a call over; processes of our own take the place of a user's pool that is broken."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            if self._own:
                raise
            self._replace()
            return self._executor.submit(function, *arguments)
        except RuntimeError as error:
            raise OptionError(f"the executor takes no calls ({error}): give one that is open") from error

    def deaths(self, error: BaseException) -> int:
        """Number of workers that died in an attempt with this error; 0 for an error of the call's own."""
        return 1 if isinstance(error, BrokenExecutor) else cluster.deaths(error)

    def check_presence(self) -> None:
        """ClusterError where a cluster has lost all its workers for good; called while calls are awaited."""
        if self._presence is not None:
            self._presence.check()

    def stop(self) -> None:
        """End calls that run at once where the workers are our own; others end those they have begun."""
        if self._own and isinstance(self._executor, WorkerProcesses):
            self._executor.stop()

    def shutdown(self) -> None:
        if self._own:
            self._executor.shutdown()

    def _replace(self) -> None:
        warn_user(
            f"a process of the executor died, which breaks it as a whole: {self.count} processes of "
            "trajopt's own solve what is left; without `executor`, one that dies costs its own point only"
        )
        self._executor, self._own = WorkerProcesses(self.count), True


@contextmanager
def opened(executor: Where | None, processes: int | None) -> Iterator[Workers]:
    """Workers that are ended when the study is; an executor of the user's stays open.

    executor : None for `processes` processes, or this one alone where that is 1 (None: one per core);
        "tcp://HOST:PORT", a `distributed.Client` or its executor for a Dask cluster, whose workers are asked
        for their versions first; or any other executor of `concurrent.futures`
    Raises OptionError for anything else, ClusterError for a cluster that cannot be used.
    """
    if processes is not None:
        check_count("processes", processes, 1, MOST_PROCESSES)
        if executor is not None:
            raise OptionError("processes and executor are both given: an executor has its own workers")
    if isinstance(executor, str) or cluster.is_dask(executor):
        with cluster.connected(executor) as (found, count):
            yield Workers(found, count)
        return
    if executor is None:
        count = processes or os.cpu_count() or 1
        workers = Workers(ThisProcess() if count == 1 else WorkerProcesses(count), count, own=True)
    elif isinstance(executor, Executor):
        workers = Workers(executor, getattr(executor, "_max_workers", UNKNOWN_COUNT))
    else:
        raise OptionError(
            f"executor is {short_repr(executor)}: give an executor of concurrent.futures, a "
            "distributed.Client, or the address of a Dask scheduler, 'tcp://host:8786'"
        )
    try:
        yield workers
    finally:
        workers.shutdown()
