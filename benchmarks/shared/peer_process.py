"""Peers in interpreters of their own: which one can import a peer, and what it answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def home_of(module: str, interpreters: Sequence[str]) -> str | None:
    """The first interpreter that can import a module; None where none can."""
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    for python in interpreters:
        if subprocess.run([python, "-c", look], capture_output=True, check=False).returncode == 0:
            return python
    return None


def asked(home: str, peer: str, intervals: int, repeats: int) -> tuple[float, float] | str:
    """Objective and median seconds of a peer of `benchmarks.shared.peers`, or the last line of its error."""
    command = [home, "-m", "benchmarks.shared.peers", peer, str(intervals), str(repeats)]
    with tempfile.TemporaryDirectory() as folder:  # Moco leaves its log where it runs
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    answer = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return answer["objective"], answer["seconds"]
