"""A process pool in which a process that dies fails only its own call.

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
from multiprocessing import get_context
from queue import SimpleQueue
from typing import Any

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

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
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

    def _call(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
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

    def call(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
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

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
