"""A Dask cluster as an executor, whose workers are asked for their versions before any point is sent.

The library `distributed` is imported only where a cluster is used: `pip install 'trajopt-splines[cluster]'`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from trajopt.base.arguments import list_names, short_repr
from trajopt.base.errors import ClusterError, OptionError
from trajopt.studies.many.provenance import check_same, versions

if TYPE_CHECKING:
    from distributed import Client

R = TypeVar("R")

LONGEST_ABSENCE = 300.0  # seconds without any worker, after which nobody is expected to come
TIMEOUT = 10.0  # seconds within which a scheduler and its workers must answer
# An expression, as a worker without the package could not import a function of it.
IS_THERE = "__import__('importlib.util', fromlist=['util']).find_spec('trajopt') is not None"


def is_dask(executor: object) -> bool:
    """True if the object is a client of Dask or the executor of one, without importing Dask."""
    return type(executor).__module__.partition(".")[0] == "distributed"


def deaths(error: BaseException) -> int:
    """Workers that died with a task before Dask's scheduler gave it up; 0 for any other error."""
    if type(error).__name__ != "KilledWorker":
        return 0
    return 1 + int(getattr(error, "allowed_failures", 0))


@contextmanager
def connected(where: Executor | str | Client) -> Iterator[tuple[Executor, int]]:
    """The executor of a cluster and its number of threads; a client that was given stays open.

    where : the address of a scheduler, a `distributed.Client`, or its executor
    Raises ClusterError for a scheduler that does not answer, one without workers, and workers on which
    trajopt is missing or of another version, or runs on another NumPy, Numba or CasADi.
    """
    client, own = (client_at(where), True) if isinstance(where, str) else (_client_of(where), False)
    try:
        count = _checked_threads(client)
        yield client.get_executor(pure=False), count
    finally:
        if own:
            client.close(timeout=TIMEOUT)


class Presence:
    """Notices that a cluster has lost its workers, or its scheduler, for good."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._seen = self._asked = clock()

    def check(self) -> None:
        """ClusterError where there has been no worker for five minutes; asks every ten seconds."""
        now = self._clock()
        if now - self._asked < TIMEOUT:
            return
        self._asked = now
        try:
            present = bool(self._client.scheduler_info(n_workers=-1)["workers"])
        except Exception:  # whatever the connection ends in
            present = False
        if present:
            self._seen = now
        elif now - self._seen > LONGEST_ABSENCE:
            raise ClusterError(
                f"the cluster has had no workers for {LONGEST_ABSENCE / 60:.0f} minutes: start some and run "
                "the same again; what was done is kept"
            )


def on_every_worker(where: Executor | str | Client, function: Callable[[], R]) -> Iterator[tuple[str, R]]:
    """Make a call once on every worker of a cluster: its address and what was returned, as they are done.

    where, errors : as in `connected`; what a call raises is raised here
    """
    with connected(where) as (found, _):
        executor: Any = found  # Dask's own: `submit` takes the address of a worker
        client = _client_of(executor)
        addresses = list(client.scheduler_info(n_workers=-1)["workers"])
        options = {"allow_other_workers": False, "pure": False}
        calls = {executor.submit(function, workers=[address], **options): address for address in addresses}
        for call in as_completed(calls):
            yield calls[call], call.result()


def client_at(address: str) -> Client:
    """A client of the scheduler at an address; ClusterError where none answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise OptionError(
            f"the cluster {short_repr(address)} needs distributed: pip install 'trajopt-splines[cluster]'"
        ) from error
    # In two steps, so that one that cannot connect is closed here: when collected later, while this process
    # starts another client or cluster, it would wait for a lock that its own thread holds.
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=TIMEOUT, set_as_default=False)
    except BaseException as error:
        client.__del__()
        if not isinstance(error, OSError | ValueError | TypeError):
            raise
        raise ClusterError(
            f"no Dask scheduler answers at {short_repr(address)} ({' '.join(str(error).split())}): start one "
            "with `dask scheduler` and workers with `dask worker tcp://HOST:8786`, and give its address"
        ) from error
    return client


def _client_of(given: Any) -> Client:
    client = getattr(given, "_client", given)  # an executor keeps its client
    if not hasattr(client, "get_executor"):
        raise OptionError(f"executor is {short_repr(given)}: give a distributed.Client, or its address")
    if client.status != "running":
        raise ClusterError(f"the client of the cluster is {client.status}: connect anew, Client(address)")
    return client


def _checked_threads(client: Any) -> int:
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise ClusterError(
            f"the cluster at {client.scheduler.address} has no workers: start some with "
            f"`dask worker {client.scheduler.address}`"
        )
    answers = client.run(eval, IS_THERE, on_error="return")
    lacking = [name for name, found in answers.items() if found is not True]
    if lacking:
        raise ClusterError(
            f"trajopt cannot be imported on {len(lacking)} of {len(answers)} workers "
            f"({list_names(lacking)}): install the same version there, pip install trajopt"
        )
    own = versions()
    for name, found in client.run(versions, on_error="return").items():
        check_same(own, found, f"the worker {name}")
    return sum(worker["nthreads"] for worker in workers.values())
