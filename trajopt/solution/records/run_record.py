"""Record of the run that an answer came from: identity, versions, processor, solver, options, limits of time.

The same command with the same versions on the same processor gives the same control points, bit for bit, as
long as no limit of wall-clock time ends a solve: those stand in `solver` and `arguments`.
"""

from __future__ import annotations

import os
import platform
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.base.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "casadi", "cyipopt-wheels")
BLAS_SETTINGS = ("OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS")
MOST_WRITTEN = 100  # numbers of an array: longer ones are shortened
SEED = 0  # of everything random: perturbed starts, sampled derivative checks


@dataclass(frozen=True)
class RunRecord:
    """What stands in every saved solution, and what its `id`, in all files of the run, belongs to.

    id : 32 hexadecimal digits, new for every call of `solve`
    started : UTC, by the clock of the machine
    solver, arguments : as Python would write them, limits of time in seconds among them
    """

    id: str
    started: str
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    solver: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    seed: int = SEED

    @staticmethod
    def of(solver: Any, arguments: Mapping[str, Any]) -> RunRecord:
        """The record of a run that begins now."""
        return RunRecord(
            id=uuid.uuid4().hex,
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            versions=dict(installed_versions()),
            machine=dict(_machine()),
            solver=repr(solver),
            arguments={name: _written(value) for name, value in arguments.items()},
        )


def _written(value: Any) -> str:
    """A value as Python would write it; short arrays with all digits of their numbers."""
    if isinstance(value, np.ndarray) and value.size <= MOST_WRITTEN:
        return f"array({value.tolist()!r})"
    return repr(value)


@cache
def installed_versions() -> dict[str, str]:
    """Versions of trajopt, Python and the packages; reading them takes 2 ms, so once per process."""
    packages = {name: _version(name) for name in PACKAGES}
    return {"trajopt": __version__, "python": platform.python_version(), **packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _machine() -> dict[str, str]:
    """Read once per process, as BLAS reads its settings."""
    settings = {name: os.environ[name] for name in BLAS_SETTINGS if name in os.environ}
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "system": f"{sys.platform} {platform.release()}",
        "cores": str(os.cpu_count()),
        **settings,
    }


@cache
def _processor() -> str:
    """The model's name where the system tells it: kernels and BLAS choose their instructions by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
