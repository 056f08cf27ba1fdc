"""Growth of the time of a recursion: one formula for chains and trees alike, fitted and drawn.

With d the depth of a body, N d counts the pairs of a body and its ancestors (itself among them), N d^2 the
triples: what the papers' bounds bound. The recursions are timed alone, on one block of nodes, their results
allocated and cleared before: between branches a dense result holds N^2 or N^3 zeros, and writing those has
an order of its own. Fitted are the sizes whose results stay in the processor's second cache; beyond it the
memory's bandwidth sets the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.dynamics.measurement import LEAST, ROUNDS, in_turns
from benchmarks.papers.models import THESIS_ROTOR
from dynamics import RigidBodyModel
from dynamics.algorithms.aba import aba
from dynamics.algorithms.christoffel import _christoffel_symbols
from dynamics.algorithms.coriolis import _coriolis_matrix
from dynamics.kernels.node_batch import batch
from dynamics.papers.trees.autotree import autotree

SIZES = (5, 7, 10, 14, 20, 28, 40, 56)  # no powers of two, at which rows of a result share cache sets
NODES = 8
SECOND_CACHE = 2**20  # bytes, the least of current machines
SHAPES = {"chain": 1, "binary tree": 2}
ORDERS = ("", "N", "N d", "N d²")
NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Curve:
    """Function that is timed, the highest of ORDERS it may have, and the indices of its result."""

    title: str
    call: Callable[[RigidBodyModel], Callable[[], object]]
    order: int
    indices: int
    rotors: bool = False


@dataclass(frozen=True, eq=False)
class Growth:
    """Times of one curve for every shape and size, and the non-negative sum of orders that fits them best.

    seconds : (shapes, sizes) per node; counts : (shapes, sizes, orders); used : (sizes,) which are fitted
    """

    curve: Curve
    seconds: np.ndarray
    counts: np.ndarray
    used: np.ndarray
    coefficients: np.ndarray

    @property
    def fitted(self) -> np.ndarray:
        return self.counts @ self.coefficients

    @property
    def deviation(self) -> float:
        """Largest relative distance between the fitted times and the fit."""
        return float(np.abs(self.fitted / self.seconds - 1.0)[:, self.used].max())

    @property
    def text(self) -> str:
        """The fit in words: 0.1 + 0.011 N + 0.0014 N d µs."""
        terms = zip(self.coefficients, ORDERS, strict=False)
        return " + ".join(f"{1e6 * c:.2g} {order}".strip() for c, order in terms if c > 0.0) + " µs"


def coriolis_call(model: RigidBodyModel) -> Callable[[], object]:
    packed, nodes = model.packed, random_nodes(model, "q", "v")
    tree, numbers, adds = packed.tree, packed.numbers, packed.shares_coordinates
    out = nodes.slots(3, model.n, model.n)
    return lambda: _coriolis_matrix(tree, numbers, *nodes.arrays, False, NOTHING, adds, out)


def christoffel_call(model: RigidBodyModel) -> Callable[[], object]:
    packed, nodes = model.packed, random_nodes(model, "q")
    tree, numbers, adds = packed.tree, packed.numbers, packed.shares_coordinates
    out = nodes.slots(*3 * (model.n,))
    return lambda: _christoffel_symbols(tree, numbers, *nodes.arrays, adds, out)


def aba_call(model: RigidBodyModel) -> Callable[[], object]:
    q, v, tau = random_nodes(model, "q", "v", "tau").arrays
    return lambda: aba(model, q, v, tau)


def random_nodes(model: RigidBodyModel, *names: str) -> Any:
    """A batch of NODES nodes."""
    values = np.random.default_rng(model.n).normal(size=(len(names), NODES, model.n))
    return batch(model.packed, **dict(zip(names, values, strict=True)))


CURVES = {
    "coriolis": Curve("Coriolis matrix, with M and its rate", coriolis_call, 2, 2),
    "christoffel": Curve("Christoffel symbols", christoffel_call, 3, 3),
    "aba": Curve("Forward dynamics with exact rotors", aba_call, 1, 1, rotors=True),
}


def growth(curve: Curve, rounds: int = ROUNDS, least: float = LEAST) -> Growth:
    """All sizes of a shape timed in turns, and one fit for all shapes."""
    seconds, counts = [], []
    for branching in SHAPES.values():
        rotor = THESIS_ROTOR if curve.rotors else None
        models = [autotree(size, branching, np.pi / 2, rotor) for size in SIZES]
        times = np.array(in_turns([curve.call(model) for model in models], rounds, least))
        seconds.append([median(column) / NODES for column in times.T])
        counts.append([order_counts(model)[: curve.order + 1] for model in models])
    used = 8 * NODES * np.array(SIZES) ** curve.indices < SECOND_CACHE
    found, numbers = np.array(seconds), np.array(counts)
    return Growth(curve, found, numbers, used, fit(found[:, used], numbers[:, used]))


def order_counts(model: RigidBodyModel) -> list[float]:
    """Numbers that ORDERS count in a robot."""
    depth: list[int] = []
    for parent in model.parent.tolist():
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return [1.0, float(len(depth)), float(sum(depth)), sum(d * (d + 1) / 2 for d in depth)]


def fit(seconds: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Coefficients by non-negative least squares of relative errors."""
    from scipy.optimize import nnls

    relative = (counts / seconds[..., None]).reshape(-1, counts.shape[-1])
    return nnls(relative, np.ones(len(relative)))[0]


def draw(found: Growth, path: Path) -> None:
    """Times as marks, hollow where they are not fitted, and the fit as lines; both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
    sizes = np.array(SIZES)
    for i, (shape, mark) in enumerate(zip(SHAPES, "os", strict=True)):
        times, colour = 1e6 * found.seconds[i], f"C{i}"
        axes.loglog(sizes, times, mark, color=colour, markerfacecolor="none")
        axes.loglog(sizes[found.used], times[found.used], mark, color=colour, label=f"{shape}, measured")
        axes.loglog(sizes, 1e6 * found.fitted[i], color=colour, linewidth=1, label=f"{shape}, fit")
    axes.set(title=f"{found.curve.title}\nfit: {found.text}", xlabel="joints N", ylabel="time per node, µs")
    axes.title.set_fontsize(10)
    axes.set_xticks(SIZES, [str(size) for size in SIZES])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
