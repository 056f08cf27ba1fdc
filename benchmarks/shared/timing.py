"""Times of calls on this machine, and its name."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]


def machine() -> str:
    """Processor, cores and versions, in one sentence."""
    return f"{processor()}, {versions()}"


def versions() -> str:
    """Versions of what runs our code, not of our code."""
    return f"Python {platform.python_version()}, NumPy {np.__version__}"


def processor() -> str:
    """Its name, cores and system."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        name = models[0].split(":", 1)[1].strip() if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def commit() -> str:
    """The commit that runs, with a plus sign where files have changed since; "unknown" without git."""
    try:
        call = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def loaded_machine() -> str:
    """The machine and how many processes have run on it in the last minute."""
    return f"{machine()}, load {os.getloadavg()[0]:.1f}"


def with_seconds(run: Callable[[], T]) -> tuple[T, float]:
    """Value of one call, and the processor seconds that it takes."""
    began = time.process_time()
    found = run()
    return found, time.process_time() - began


def time_of(run: Callable[[], object], budget: float = 0.15) -> float:
    """Seconds per call: the fastest of five batches that fill the budget, after one call that warms up.

    On a machine shared with others the fastest batch is the one least disturbed.
    """
    run()
    started = time.perf_counter()
    run()
    once = max(time.perf_counter() - started, 1e-7)
    calls = max(1, int(budget / 5.0 / once))
    if once > budget:
        return once
    batches = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(calls):
            run()
        batches.append((time.perf_counter() - started) / calls)
    return min(batches)


def once(run: Callable[[], object]) -> float:
    """Seconds of one call, for what is too slow or too wasteful to repeat."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
