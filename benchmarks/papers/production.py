"""Run times of the production kernels: seconds per call and per node of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dynamics
from benchmarks.shared.timing import time_of

NODES = 64


class KernelTime(NamedTuple):
    """Seconds of one call with one node, and seconds per node when many nodes are evaluated together."""

    call: float
    node: float


def kernel_time(name: str, model, inputs: int, nodes: int = NODES) -> KernelTime:
    """Times of `dynamics.NAME(model, ...)` with `inputs` random (..., n) arrays."""
    function = getattr(dynamics, name)
    batch = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, (inputs, nodes, model.n))
    single = [x[0] for x in batch]
    return KernelTime(
        time_of(lambda: function(model, *single), 0.05),
        time_of(lambda: function(model, *batch), 0.05) / nodes,
    )
