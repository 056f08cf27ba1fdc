"""The workers of a study: processes of its own, an executor of the user's, or those of a Dask cluster.

A process that dies fails only its own call.

The pool of `concurrent.futures` is broken as a whole once one of its processes dies (out of memory, killed),
and takes along what others have not begun. Here every process is a pool of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from trajopt.base.arguments import check_count, short_repr
from trajopt.base.errors import OptionError, warn_user
from trajopt.studies.workers import cluster

if TYPE_CHECKING:
    from distributed import Client
else:
    Client = object  # Dask may be missing

MOST_PROCESSES = 1024

P = ParamSpec("P")
R = TypeVar("R")
#: An executor, the address of a Dask scheduler, or a client of Dask.
Where: TypeAlias = Executor | str | Client


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
        # Three calls are on their way to each worker, so that none waits for the next one
        return 1 if isinstance(self._executor, ThisProcess) else 3 * self.count

    def submit(self, function: Callable[..., object], *arguments: object) -> Future:
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
    if isinstance(executor, str) or (executor is not None and cluster.is_dask(executor)):
        with cluster.connected(executor) as (found, count):
            yield Workers(found, count)
        return
    if executor is None:
        count = processes or os.cpu_count() or 1
        workers = Workers(ThisProcess() if count == 1 else WorkerProcesses(count), count, own=True)
    elif isinstance(executor, Executor):
        # 20 workers where an executor does not say how many it has
        workers = Workers(executor, getattr(executor, "_max_workers", 20))
    else:
        raise OptionError(
            f"executor is {short_repr(executor)}: give an executor of concurrent.futures, a "
            "distributed.Client, or the address of a Dask scheduler, 'tcp://host:8786'"
        )
    try:
        yield workers
    finally:
        workers.shutdown()


# Small dense fronts of sparse factorisations cost more on two BLAS threads than on one, and processes side by
# side would ask for more threads than there are cores. NumPy reads it when it is first imported.
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
_ENVIRONMENT_LOCK = threading.Lock()


class WorkerProcesses(Executor):
    """An executor of `count` processes that are started when they are needed, and anew when they die.

    A call whose process dies raises BrokenExecutor; all others go on.
    """

    def __init__(self, count: int) -> None:
        self._workers = [_Worker() for _ in range(count)]
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(count)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        return self._threads.submit(self._call, fn, *args, **kwargs)

    def stop(self) -> None:
        """End all processes at once; calls that run raise BrokenExecutor, those that wait are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.stop()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.shutdown(wait)

    def _call(self, function: Callable[P, R], /, *arguments: P.args, **named: P.kwargs) -> R:
        worker = self._free.get()
        try:
            return worker.call(function, *arguments, **named)
        finally:
            self._free.put(worker)


class _Worker:
    """One process; it is used by one thread at a time, and stopped from any."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._pid, self._stopped = 0, False

    def call(self, function: Callable[P, R], /, *arguments: P.args, **named: P.kwargs) -> R:
        if self._stopped:
            raise BrokenExecutor("the process that worked on it was stopped")
        try:
            return self._started().submit(function, *arguments, **named).result()
        except BrokenExecutor:
            self.shutdown(wait=True)
            raise

    def stop(self) -> None:
        self._stopped = True
        if self._pool is not None and self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    def shutdown(self, wait: bool) -> None:
        pool, self._pool, self._pid = self._pool, None, 0
        if pool is not None:
            pool.shutdown(wait)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_leave_interrupts_to_the_parent
            )
            with _in_environment(ONE_BLAS_THREAD):
                begun = self._pool.submit(os.getpid)
            self._pid = begun.result()
            if self._stopped:  # while it was being started
                self.stop()
        return self._pool


@contextlib.contextmanager
def _in_environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started within; those that the user has set stay."""
    with _ENVIRONMENT_LOCK:
        new = {name: value for name, value in variables.items() if name not in os.environ}
        os.environ.update(new)
        try:
            yield
        finally:
            for name in new:
                os.environ.pop(name, None)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches all processes of a terminal; the parent decides, and ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class ThisProcess(Executor):
    """An executor that makes a call at once, in this process."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
