"""One BLAS thread while a solve runs: its matrices are small, and a second thread costs more than it gives.

IPOPT's MUMPS factorises dense fronts of tens to hundreds of rows, and derivatives are products of such
matrices. OpenBLAS divides them among all cores and lets the idle ones wait in a loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_blas_thread(loaded: str = "numpy") -> Iterator[None]:
    """Limit every BLAS of this process to one thread, and restore what was there at the end.

    Nothing is limited where the user has set one of the environment variables `SETTINGS`. The limit belongs
    to the process: of several threads that solve, the first sets it and restores it.

    loaded : a package whose BLAS may have been loaded since the last call; libraries are searched for once
        per name
    """
    if any(os.environ.get(name) for name in SETTINGS):
        yield
        return
    with _libraries(loaded).limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries(loaded: str) -> Any:
    import threadpoolctl

    class BundledOpenBLAS(threadpoolctl.OpenBLASController):
        """The OpenBLAS in CasADi's wheels, which has a name of its own; its IPOPT calls it."""

        filename_prefixes = ("libcasadi-tp-openblas",)

    threadpoolctl.register(BundledOpenBLAS)
    return threadpoolctl.ThreadpoolController()
