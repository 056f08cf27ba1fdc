"""Defers KeyboardInterrupt during critical sections."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """KeyboardInterrupt comes at the end of the block instead of within; for blocks of milliseconds.

    In other threads than the main one, which Python never interrupts, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[Any] = []
    former = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if former is None else former)
        if came and callable(former):
            former(*came[0])
