"""Given curves (measured or planned) as quantities at nodes, for terms that compare a motion with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_choice, finite_numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import Block, Pairs, Values

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

Interpolation = Literal["cubic", "linear", "steps"]
ROUNDED = 8.0 * np.finfo(float).eps  # of the largest time: so near to a jump the step before still holds
INTERPOLATIONS = ("cubic", "linear", "steps")


@dataclass(frozen=True, eq=False)
class Data:
    """Samples (k, width) at times (k,), joined by a curve d that is held constant beyond its ends.

    interpolation : "cubic" spline, "linear", or "steps", each sample holding from its time to the next, whose
        time itself still belongs to the step before
    """

    name: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    clock: Literal["seconds", "progress"]
    unit: str = ""
    interpolation: Interpolation = "cubic"

    @property
    def width(self) -> int:
        return self.values.shape[1]

    @property
    def quantity(self) -> str:
        return f"data:{self.name}"

    @property
    def breakpoints(self) -> Array:
        """Times at which the curve jumps or bends: none of a cubic spline."""
        if self.interpolation == "cubic":
            return np.empty(0)
        slopes = np.diff(self.values, axis=0)
        if self.interpolation == "steps":
            return self.times[1:][np.any(slopes != 0.0, axis=1)]
        slopes = slopes / np.diff(self.times)[:, None]
        bends = np.abs(np.diff(slopes, axis=0)) > AGREEMENT * np.abs(slopes).max(axis=0)
        return self.times[np.concatenate([[True], bends.any(axis=1), [True]])]

    @property
    def rounding(self) -> float:
        """Span after the time of a step, which rounding may move, in which the step before still holds."""
        return float(ROUNDED * np.abs(self.times).max())

    def at(self, s: Array, order: int = 0) -> Array:
        """d, or a derivative of it by s, at s (K,): (K, width); constant beyond the ends."""
        first, last = self.times[[0, -1]]
        inside = (s >= first) & (s <= last)
        if self.interpolation == "cubic":
            values = self.spline(np.clip(s, first, last), order)
            return values if order == 0 else np.where(inside[:, None], values, 0.0)
        before = np.searchsorted(self.times, s - self.rounding, side="right") - 1
        if self.interpolation == "steps":
            return self.values[np.maximum(before, 0)] * (order == 0)
        i = np.clip(before, 0, self.times.size - 2)
        slopes = (np.diff(self.values, axis=0) / np.diff(self.times)[:, None])[i]
        if order == 0:
            return self.values[i] + slopes * (np.clip(s, first, last) - self.times[i])[:, None]
        return np.where(inside[:, None] & (order == 1), slopes, 0.0)

    @cached_property
    def spline(self) -> CubicSpline:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.times, self.values)


def data_of(
    name: str,
    times: ArrayLike,
    values: ArrayLike,
    clock: str,
    unit: str = "",
    interpolation: str = "cubic",
) -> Data:
    """Check and copy; see `Problem.data`."""
    at = np.array(finite_numbers(times, f"the times of data '{name}'"))
    samples = np.array(finite_numbers(values, f"the values of data '{name}'"))
    samples = samples[:, None] if samples.ndim == 1 else samples
    check_choice("clock", clock, ("seconds", "progress"))
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    if at.ndim != 1 or samples.ndim != 2 or at.size != samples.shape[0] or at.size < 2:
        raise ShapeError(
            f"data '{name}' has times of shape {at.shape} and values of shape {samples.shape}: "
            "give (k,) and (k, width), k at least 2"
        )
    if np.any(np.diff(at) <= 0.0):
        raise OptionError(f"the times of data '{name}' do not rise: sort them, one sample each")
    return Data(name, at, samples, clock, unit, interpolation)  # type: ignore[arg-type]


def blocks_of_data(graph: Graph, datasets: Mapping[str, Data]) -> dict[Block, Block]:
    """Block of the graph -> the block of other data of the same name, for data that are others."""
    found: dict[Block, Block] = {}
    for block in graph.blocks:
        if isinstance(block, DataBlock) and datasets[block.data.name] is not block.data:
            found[block] = DataBlock(datasets[block.data.name])
    return found


class DataBlock:
    """y = d(time), or y = d(t / T) for data over progress, d the curve through the samples, (K, width)."""

    derivatives_are_tested = True

    def __init__(self, data: Data) -> None:
        self.data, self.target = data, data.quantity
        self.inputs = {"time": 1} if data.clock == "seconds" else {"t": 1, "duration": 1}
        self.outputs = {self.target: data.width}

    def value(self, u: Mapping[str, Array]) -> Values:
        s, _ = self._argument(u)
        return {self.target: self.data.at(s, 0)}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        s, slopes = self._argument(u)
        rate = self.data.at(s, 1)
        return {(self.target, name): (rate * slopes[name])[:, :, None] for name in self.inputs}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        s, slopes = self._argument(u)
        bend = (adjoints[self.target] * self.data.at(s, 2)).sum(axis=1)[:, None, None]
        if len(self.inputs) == 1:
            return {("time", "time"): bend}
        rate = (adjoints[self.target] * self.data.at(s, 1)).sum(axis=1)[:, None, None]
        T, by_t, by_T = (part[:, :, None] for part in (u["duration"], slopes["t"], slopes["duration"]))
        return {
            ("t", "t"): bend * by_t**2,
            ("t", "duration"): bend * by_t * by_T - rate / T**2,
            ("duration", "duration"): bend * by_T**2 + 2.0 * rate * u["t"][:, :, None] / T**3,
        }

    def table_arguments(self, u: Mapping[str, Array]) -> Iterator[tuple[str, int | None, Array, Array]]:
        """Its times, or their progress, at which it is read, as `ExpressionBlock` gives arguments."""
        ends, argument = self.data.times[[0, -1]], self._argument(u)[0]
        if self.data.interpolation == "steps":  # the last one goes on
            ends[1] = max(ends[1], argument.max())
        yield f"data '{self.data.name}'", None, ends, argument

    def pattern(self) -> Pairs:
        return {(self.target, name): np.ones((self.data.width, 1), bool) for name in self.inputs}

    def curvature_pattern(self) -> Pairs:
        names = list(self.inputs)
        pairs = [(one, other) for i, one in enumerate(names) for other in names[i:]]
        return {pair: np.ones((1, 1), bool) for pair in pairs}

    def _argument(self, u: Mapping[str, Array]) -> tuple[Array, Values]:
        """The argument s of the curve (K,), and its derivatives by the inputs (K, 1)."""
        if len(self.inputs) == 1:
            return u["time"][:, 0], {"time": np.ones_like(u["time"])}
        t, T = u["t"], u["duration"]
        return (t / T)[:, 0], {"t": 1.0 / T, "duration": -t / T**2}
