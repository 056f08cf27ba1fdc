"""Makes calls on workers, in order of completion; calls of a worker that dies are made again.

A chain is a generator that yields calls one after the other and is sent the outcome of each, so that one call
may build on the last; chains run side by side. Ctrl-C ends the calls that run at once and keeps the outcomes
of those that were done.

KeyboardInterrupt is deferred during critical sections.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from types import FrameType

from trajopt.base.errors import ClusterError, WorkerDiedError
from trajopt.studies.workers.workers import Workers


@dataclass(frozen=True)
class Call:
    """A function and its arguments, which can be pickled; `key` identifies the call."""

    key: int
    function: Callable[..., object]
    arguments: tuple[object, ...]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a call: its value, or the error that it, or its way to a worker, raised.

    tries : how often it was given to a worker
    """

    call: Call
    value: object = None
    error: BaseException | None = None
    tries: int = 1


Chain = Generator[Call, Outcome, None]


class _Running:
    """The calls that workers have at a time, each with its chain and its outcome without value or error."""

    def __init__(self, workers: Workers, tries: int) -> None:
        self._workers, self._tries = workers, tries
        self._sent: dict[Future, tuple[Chain, Outcome]] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._sent)

    def begin(self, chain: Chain, outcome: Outcome | None = None) -> None:
        """Give the next call of a chain to a worker, if there is one."""
        with suppress(StopIteration):
            call = chain.send(outcome)  # type: ignore[arg-type]  # None starts a generator
            self._submit(chain, Outcome(call))

    def next_done(self) -> tuple[Chain, Outcome]:
        """Wait for a call to be done; those that a dead worker took along are made again meanwhile."""
        while True:
            try:
                future = self._done.get(timeout=0.5)  # seconds: Windows hears Ctrl-C between waits only
            except Empty:
                self._workers.check_presence()
                continue
            chain, sent = self._sent.pop(future)
            outcome = self._outcome(future, sent)
            if outcome is not None:
                return chain, outcome
            self._submit(chain, replace(sent, tries=sent.tries + 1))

    def stop(self) -> Iterator[Outcome]:
        """End what runs; the outcomes of calls that were done already."""
        self._workers.stop()
        for future, (_, sent) in list(self._sent.items()):
            if not future.cancel() and future.done() and future.exception() is None:
                yield replace(sent, value=future.result())
        self._sent.clear()

    def _submit(self, chain: Chain, sent: Outcome) -> None:
        future = self._workers.submit(sent.call.function, *sent.call.arguments)
        self._sent[future] = chain, sent
        future.add_done_callback(self._done.put)

    def _outcome(self, future: Future, sent: Outcome) -> Outcome | None:
        """None where the worker died and the call is to be made once more."""
        try:
            return replace(sent, value=future.result())
        except CancelledError as error:
            raise ClusterError(
                "the connection to the workers was lost: start them anew and run the same again; what was "
                "done is kept"
            ) from error
        except Exception as error:
            if isinstance(error, BrokenExecutor) and sent.tries < self._tries:  # Dask tries itself
                return None
            deaths = self._workers.deaths(error) * sent.tries
            times = "once" if deaths == 1 else f"{deaths} times"
            died = WorkerDiedError(f"the worker that solved it died {times}: killed, or out of memory")
            return replace(sent, error=died if deaths else error)


Outcomes = Generator[Outcome, None, None]


def outcomes_of(chains: Iterable[Chain], workers: Workers, tries: int = 3) -> Outcomes:
    """The outcomes of all calls of all chains as they are done.

    tries : how often a call is made whose worker dies, before its outcome is a WorkerDiedError
    Raises ClusterError where the connection to the workers is lost. At Ctrl-C the outcomes of calls that were
    done still come, then KeyboardInterrupt.
    """
    waiting, running = iter(chains), _Running(workers, tries)
    try:
        while True:
            while len(running) < workers.in_flight:
                chain = next(waiting, None)
                if chain is None:
                    break
                running.begin(chain)
            if not len(running):
                return
            chain, outcome = running.next_done()
            yield outcome
            running.begin(chain, outcome)
    except KeyboardInterrupt:
        yield from running.stop()
        raise
    finally:
        if len(running):
            for _ in running.stop():
                pass


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """KeyboardInterrupt comes at the end of the block instead of within; for blocks of milliseconds.

    In other threads than the main one, which Python never interrupts, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    former = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if former is None else former)
        if came and callable(former):
            former(*came[0])
