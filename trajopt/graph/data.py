"""Given curves (measured or planned) as quantities at nodes, for terms that compare a motion with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_choice, finite_numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.graph import Graph
from trajopt.graph.protocols.block import Block, Pairs, Values


@dataclass(frozen=True, eq=False)
class Data:
    """Samples (k, width) at times (k,), joined by a cubic spline that is held constant beyond its ends."""

    name: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    clock: Literal["seconds", "progress"]
    unit: str = ""

    @property
    def width(self) -> int:
        return self.values.shape[1]

    @property
    def quantity(self) -> str:
        return f"data:{self.name}"

    @cached_property
    def spline(self) -> Any:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.times, self.values)


def data_of(name: str, times: ArrayLike, values: ArrayLike, clock: str, unit: str = "") -> Data:
    """Check and copy; see `Problem.data`."""
    at = np.array(finite_numbers(times, f"the times of data '{name}'"))
    samples = np.array(finite_numbers(values, f"the values of data '{name}'"))
    samples = samples[:, None] if samples.ndim == 1 else samples
    check_choice("clock", clock, ("seconds", "progress"))
    if at.ndim != 1 or samples.ndim != 2 or at.size != samples.shape[0] or at.size < 2:
        raise ShapeError(
            f"data '{name}' has times of shape {at.shape} and values of shape {samples.shape}: "
            "give (k,) and (k, width), k at least 2"
        )
    if np.any(np.diff(at) <= 0.0):
        raise OptionError(f"the times of data '{name}' do not rise: sort them, one sample each")
    return Data(name, at, samples, clock, unit)  # type: ignore[arg-type]


def blocks_of_data(graph: Graph, datasets: Mapping[str, Data]) -> dict[Block, Block]:
    """Block of the graph -> the block of other data of the same name, for data that are others."""
    found: dict[Block, Block] = {}
    for block in graph.blocks:
        if isinstance(block, DataBlock) and datasets[block.data.name] is not block.data:
            found[block] = DataBlock(datasets[block.data.name])
    return found


class DataBlock:
    """y = d(t), or y = d(t / T) for data over progress, d the cubic spline through it, (K, width)."""

    derivatives_are_tested = True

    def __init__(self, data: Data) -> None:
        self.data, self.target = data, data.quantity
        self.inputs = {"t": 1} if data.clock == "seconds" else {"t": 1, "duration": 1}
        self.outputs = {self.target: data.width}

    def value(self, u: Mapping[str, Array]) -> Values:
        s, _ = self._argument(u)
        return {self.target: self._spline(s, 0)}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        s, slopes = self._argument(u)
        rate = self._spline(s, 1)
        return {(self.target, name): (rate * slopes[name])[:, :, None] for name in self.inputs}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        s, slopes = self._argument(u)
        bend = (adjoints[self.target] * self._spline(s, 2)).sum(axis=1)[:, None, None]
        if len(self.inputs) == 1:
            return {("t", "t"): bend}
        rate = (adjoints[self.target] * self._spline(s, 1)).sum(axis=1)[:, None, None]
        T, by_t, by_T = (part[:, :, None] for part in (u["duration"], slopes["t"], slopes["duration"]))
        return {
            ("t", "t"): bend * by_t**2,
            ("t", "duration"): bend * by_t * by_T - rate / T**2,
            ("duration", "duration"): bend * by_T**2 + 2.0 * rate * u["t"][:, :, None] / T**3,
        }

    def pattern(self) -> Pairs:
        return {(self.target, name): np.ones((self.data.width, 1), bool) for name in self.inputs}

    def curvature_pattern(self) -> Pairs:
        pairs = [("t", "t"), ("t", "duration"), ("duration", "duration")]
        return {pair: np.ones((1, 1), bool) for pair in pairs if set(pair) <= set(self.inputs)}

    def _argument(self, u: Mapping[str, Array]) -> tuple[Array, Values]:
        """The argument s of the spline (K,), and ds/dt and ds/dT (K, 1)."""
        t = u["t"]
        if len(self.inputs) == 1:
            return t[:, 0], {"t": np.ones_like(t)}
        T = u["duration"]
        return (t / T)[:, 0], {"t": 1.0 / T, "duration": -t / T**2}

    def _spline(self, s: Array, derivative: int) -> Array:
        """d or a derivative of it by s, (K, width); constant beyond the ends of the data."""
        first, last = self.data.times[[0, -1]]
        inside = (s >= first) & (s <= last)
        values = self.data.spline(np.clip(s, first, last), derivative)
        return values if derivative == 0 else np.where(inside[:, None], values, 0.0)
