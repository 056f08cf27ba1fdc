"""Checks the arrays of callers and converts them to the layout that kernels read, and results back.

Callers give (..., width) arrays of any real dtype with leading axes that broadcast; kernels get
C-contiguous writable (nodes, width) float64 arrays. complex128 is let through for complex-step tests.
NaN passes and propagates, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynamics.arguments import list_names, number_array
from dynamics.errors import ShapeError

if TYPE_CHECKING:
    from dynamics.model.packed_model import PackedModel

FLOAT = np.dtype(np.float64)
CACHE_LINE = 64  # bytes: eight lanes on a boundary are one line, off it every access touches two
# Nodes of a SIMD vector: eight float64 fill one AVX-512, two AVX2 or four NEON registers. With sixteen the
# workspace of a body would be twice as large, and half as many bodies would fit into the first cache.
LANES = 8
# Blocks of nodes handled together: an entry of a result is then written for all of them while its memory is
# in the cache. One block after the other takes twice as long at 64 nodes, four times at 256.
BLOCKS_TOGETHER = 8


class Batch(NamedTuple):
    """Arrays brought to (nodes, width) and the leading axes to give back."""

    arrays: tuple[np.ndarray, ...]
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nodes(self) -> int:
        return self.arrays[0].shape[0]

    @property
    def width(self) -> int:
        """Nodes per slot of the kernels' arrays."""
        return LANES if self.dtype == FLOAT else 1

    @property
    def blocks(self) -> int:
        return -(-self.nodes // self.width)

    def given(self, index: int) -> np.ndarray:
        """The array of this number, or an empty one, by which kernels know that it is not given."""
        return self.arrays[index] if len(self.arrays) > index else np.empty((0, 0), self.dtype)

    def at_rest(self) -> Batch:
        """A batch of q alone as one of q and v = 0."""
        q = self.arrays[0]
        return Batch((q, np.zeros_like(q)), self.shape, self.dtype)

    def rows(self, *widths: int) -> np.ndarray:
        """An empty (nodes, product of widths) array for results that kernels scatter."""
        return np.empty((self.nodes, prod(widths)), self.dtype)

    def unfold(self, rows: np.ndarray, *widths: int) -> np.ndarray:
        """(nodes, product) -> (..., *widths)."""
        return rows.reshape(self.shape + widths)

    def slots(self, *widths: int, cleared: bool = True) -> np.ndarray:
        """A (*widths, blocks, width) array for results whose node axis is last in memory.

        It starts on a cache line's boundary. `cleared` is False for kernels that write every entry.
        """
        width = self.width
        shape = (*widths, -(-self.nodes // width), width)
        size, item = prod(shape), self.dtype.itemsize
        # The system clears the pages of a large np.zeros itself: to fill them would be a second pass.
        made = np.zeros if cleared else np.empty
        raw = made(size + CACHE_LINE // item, self.dtype)
        skip = -raw.__array_interface__["data"][0] % CACHE_LINE // item
        return raw[skip : skip + size].reshape(shape)

    def spread(self, nodes_last: np.ndarray) -> np.ndarray:
        """(*widths, nodes) -> (..., *widths), a strided view where there is one leading axis."""
        widths = nodes_last.shape[:-1]
        # np.moveaxis does the same at eight times the cost, which shows at a single node.
        first = nodes_last.transpose(-1, *range(len(widths)))
        return first if len(self.shape) == 1 else first.reshape(self.shape + widths)

    def nodes_last(self, slots: np.ndarray) -> np.ndarray:
        """(*widths, blocks, width) -> (*widths, nodes), without the unused lanes after the last node."""
        return slots.reshape(*slots.shape[:-2], self.blocks * self.width)[..., : self.nodes]

    def unblock(self, slots: np.ndarray) -> np.ndarray:
        """(*widths, blocks, width) -> (..., *widths)."""
        return self.spread(self.nodes_last(slots))


def batch(packed: PackedModel, **arrays: Any) -> Batch:
    """Arrays of coordinates, each (..., n), as a `Batch`; ShapeError names the array and the joints."""
    given = tuple(arrays.values())
    shape = getattr(given[0], "shape", ())
    if shape[-1:] == (packed.n,) and all(is_ready(array, shape) for array in given):
        rows = (prod(shape[:-1]), packed.n)
        return Batch(tuple(array.reshape(rows) for array in given), shape[:-1], FLOAT)
    return _batch(arrays, dict.fromkeys(arrays, (packed.n,)), packed)


def is_ready(array: Any, shape: tuple[int, ...]) -> bool:
    """True if a kernel can read this array without conversion: the common case, decided quickly."""
    plain = type(array) is np.ndarray and array.dtype == FLOAT
    return plain and array.shape == shape and array.flags.carray


def batch_with(packed: PackedModel, extra: Mapping[str, tuple[Any, tuple[int, ...]]], **arrays: Any) -> Batch:
    """Arrays of coordinates and, after them, `extra`: name -> (array, trailing shape), as a `Batch`."""
    leading = getattr(next(iter(arrays.values())), "shape", ())[:-1]
    if all(is_ready(array, (*leading, packed.n)) for array in arrays.values()) and all(
        is_ready(array, (*leading, *tail)) for array, tail in extra.values()
    ):
        nodes = prod(leading)
        rows = [array.reshape(nodes, packed.n) for array in arrays.values()]
        rows += [array.reshape(nodes, prod(tail)) for array, tail in extra.values()]
        return Batch(tuple(rows), leading, FLOAT)
    trailing: dict[str, tuple[int, ...]] = dict.fromkeys(arrays, (packed.n,))
    for name, (array, shape) in extra.items():
        arrays[name], trailing[name] = array, shape
    return _batch(arrays, trailing, packed)


def _batch(arrays: dict[str, Any], trailing: dict[str, tuple[int, ...]], packed: PackedModel) -> Batch:
    found = [number_array(array, name) for name, array in arrays.items()]
    leading = []
    dtype = FLOAT
    for array, (name, tail) in zip(found, trailing.items(), strict=True):
        cut = array.ndim - len(tail)
        if cut < 0 or array.shape[cut:] != tail:
            raise ShapeError(shape_message(name, array.shape, tail, packed))
        leading.append(array.shape[:cut])
        if array.dtype != FLOAT:
            dtype = array.dtype
    shape = leading[0]
    if any(other != shape for other in leading):
        shape = broadcast_shape(leading, trailing)
    return Batch(
        tuple(
            node_rows(array, shape, tail, dtype) for array, tail in zip(found, trailing.values(), strict=True)
        ),
        shape,
        dtype,
    )


def node_rows(
    array: np.ndarray, shape: tuple[int, ...], tail: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """`array` as a C-contiguous writable (nodes, width) array."""
    if array.ndim == len(shape) + len(tail) and array.shape[: len(shape)] == shape:
        rows = array.reshape(prod(shape), prod(tail))
    else:
        rows = np.broadcast_to(array, shape + tail).reshape(prod(shape), prod(tail))
    flags = rows.flags
    if flags.c_contiguous and flags.writeable and rows.dtype == dtype:
        return rows
    return np.array(rows, dtype=dtype, order="C")


def broadcast_shape(leading: list[tuple[int, ...]], names: Any) -> tuple[int, ...]:
    """The common leading axes; ShapeError when they do not fit together."""
    try:
        return np.broadcast_shapes(*leading)
    except ValueError as error:
        given = ", ".join(f"{name} {shape}" for name, shape in zip(names, leading, strict=True))
        raise ShapeError(f"the leading axes do not broadcast together: {given}") from error


def shape_message(name: str, shape: tuple[int, ...], tail: tuple[int, ...], packed: PackedModel) -> str:
    if tail == (packed.n,):
        plural = "" if packed.n == 1 else "s"
        joints = f"n = {packed.n} joint{plural} ({list_names(packed.names)})"
        return f"{name} has shape {shape} but the model has {joints}"
    expected = ", ".join(["...", *map(str, tail)])
    return f"{name} has shape {shape} but ({expected}) is expected for a model of {packed.links} links"
