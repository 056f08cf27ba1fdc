"""Checks derivatives of users' blocks against differences of their values, before the first solve.

At a random point near the guess, with direct inputs u and outputs y of a block,

    d y_i / d u_j           against  Im y_i(u + i h e_j) / h          where the block accepts complex numbers
                                     (y_i(u + h e_j) - y_i(u - h e_j)) / 2h   elsewhere
    d (w . dy/du) / d u_j   against the same steps of the partials, for random weights w

All steps of one block are nodes of one call, so a check costs a few evaluations. What one step h calls wrong
is looked at again with finer ones; slopes that no step determines are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import DerivativeError, EvaluationError, ShapeError
from trajopt.base.rounding import AGREEMENT
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import Graph
from trajopt.graph.keys import entry, term_of
from trajopt.graph.protocols.block import Block, SecondOrderBlock
from trajopt.problem.problem import ProblemData
from trajopt.problem.problem_graph import graph_of
from trajopt.transcription.difference_slopes import LADDER, STEP, DifferenceSlopes
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.kink_check import warn_of_kinks
from trajopt.transcription.leaf_map import SplineMap

Components = Callable[[str, int], list[str]]  # (quantity, width) -> the names of its components
COMPLEX_STEP = 1e-30  # squares of it vanish beside one
DIFFERENCE_TOLERANCE = 3e-5  # relative to the size of the block's partials and values, for differences
ERRORS_ALLOWED = 10.0  # times the estimated error of a difference are allowed besides
DISTANCE_FROM_GUESS = 0.1  # of the random point from the guess, relative to 1 + |u|


def check_problem(problem: ProblemData, graph: Graph | None = None) -> None:
    """Check every block of a problem once, unless its derivatives are known to be tested.

    A block whose attribute `derivatives_are_tested` is true is not checked (those of `dynamics` are tested).
    Of traced terms values and kinks are looked at: CasADi differentiates their elementary operations.
    Raises ShapeError for an output of the wrong shape, EvaluationError for one that is not finite at the
    guess or depends on more than its node, DerivativeError for a partial or a curvature that differs from the
    slope of the values.

    graph : of all that is minimized or bounded, where it is known already
    """
    graph = graph or graph_of(problem, [each.term for each in (*problem.costs, *problem.stated)])
    lasting = {block for blocks in problem._blocks.values() for block in blocks}
    # Blocks of the dynamics are made anew for every graph; their outputs identify them.
    key = {block: block if block in lasting else tuple(block.outputs) for block in graph.blocks}
    checked = problem._tested_blocks
    fresh = [block for block in graph.blocks if not _is_tested(block) and key[block] not in checked]
    if not fresh:
        return
    spline_map = SplineMap.of(problem)
    guess = first_guess(problem, layout=spline_map.layout)
    z = spline_map.leaf_values(spline_map.layout.vector(*guess), set(graph.leaves))
    components = problem.component_names
    values = _values_at_guess(graph, z, components)
    written = [block for block in fresh if not isinstance(block, ExpressionBlock)]
    for block in written:
        check_purity(block, values, components)
    for number, block in enumerate(written):
        check_block(block, values, components, np.random.default_rng(number))
    for block in fresh:
        if isinstance(block, ExpressionBlock):
            warn_of_kinks(block, values, problem, components)
        checked.add(key[block])


def check_purity(block: Block, values: Mapping[str, Array], components: Components) -> None:
    """Check that a block does not change its inputs, and that its value at a node depends on that node alone.

    Raises EvaluationError. Sparse derivatives, and the differences taken here, rest on both.
    """
    u = {name: np.array(values[name]) for name in block.inputs}
    times = values["t"][:, 0]
    found = block.value(u)
    block.partials(u)
    for name, part in u.items():
        if not np.array_equal(part, values[name]):
            raise EvaluationError(
                f"{term_of(next(iter(block.outputs)))} changes its input '{name}' in place: copy it first"
            )
    backward = block.value({name: part[::-1].copy() for name, part in u.items()})
    for name, width in block.outputs.items():
        gap = np.abs(backward[name][::-1] - found[name])
        wrong = np.argwhere(~(gap <= AGREEMENT * (1.0 + np.abs(found[name]))))
        if wrong.size:
            node, i = wrong[0]
            raise EvaluationError(
                f"{entry(name, int(i), width, components)} is {found[name][node, i]:.6g} at t = "
                f"{times[node]:.4g} s (node {node}), but {backward[name][::-1][node, i]:.6g} when the same "
                "nodes come in reverse order: let it depend on its own node alone, not on others, on chance "
                "or on earlier calls"
            )


def check_block(
    block: Block,
    values: Mapping[str, Array],
    components: Components,
    rng: np.random.Generator,
) -> None:
    """Check partials, patterns and curvature of one block at a point near one of the nodes of `values`."""
    u = _random_point(block, values, rng)
    weights = {name: rng.uniform(0.5, 1.5, (1, width)) for name, width in block.outputs.items()}

    def check(steps: Sequence[float]) -> None:
        point = _Point(block, u, components, steps)
        point.check_partials()
        if implements(block, SecondOrderBlock):
            point.check_curvature(block, weights)

    try:
        check((STEP,))
    except DerivativeError:
        check(LADDER)


def _is_tested(block: Block) -> bool:
    return bool(getattr(block, "derivatives_are_tested", False))


def _values_at_guess(graph: Graph, z: Mapping[str, Array], components: Components) -> dict[str, Array]:
    """Every quantity at every node of the guess, shapes and finiteness checked block by block."""
    u = dict(z)
    times, count = z["t"][:, 0], z["t"].shape[0]
    for block in graph.blocks:
        found = block.value(u)
        for name, width in block.outputs.items():
            shape = np.shape(found[name]) if name in found else ()
            if shape != (count, width):
                raise ShapeError(
                    f"{term_of(name)} gave shape {shape} at {count} nodes: expected ({count}, {width}), "
                    "one row per node"
                )
            bad = np.argwhere(~np.isfinite(found[name]))
            if bad.size:
                node, component = bad[0]
                label = entry(name, int(component), width, components)
                raise EvaluationError(
                    f"{label} is {found[name][node, component]} at the first guess, at t = "
                    f"{times[node]:.4g} s (node {node} of {count}): keep it finite there, or guess elsewhere"
                )
        u.update(found)
    return u


def _random_point(block: Block, values: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """One node moved a little, (1, width) each; the node itself where the block is not finite beside it."""
    count = next(iter(values.values())).shape[0]
    node = int(rng.integers(count))
    at = {name: np.array(values[name][node : node + 1], dtype=float) for name in block.inputs}
    moved = {
        name: part + DISTANCE_FROM_GUESS * (1.0 + np.abs(part)) * rng.uniform(-1.0, 1.0, part.shape)
        for name, part in at.items()
    }
    with np.errstate(all="ignore"):
        finite = all(np.isfinite(part).all() for part in block.value(moved).values())
    return moved if finite else at


@dataclass(frozen=True)
class _Point:
    """A block at one point, and how it changes when each input component is stepped."""

    block: Block
    u: dict[str, Array]
    components: Components
    steps: Sequence[float]

    @property
    def columns(self) -> list[tuple[str, int]]:
        return [(name, j) for name, width in self.block.inputs.items() for j in range(width)]

    def stepped(self, size: complex) -> dict[str, Array]:
        """One node per input component, which is stepped by size * (1 + |u|), or by a complex size itself."""
        columns = self.columns
        moved = {
            name: np.repeat(part, len(columns), axis=0).astype(type(size)) for name, part in self.u.items()
        }
        for row, (name, j) in enumerate(columns):
            moved[name][row, j] += size if isinstance(size, complex) else self._step(name, j, size)
        return moved

    def _step(self, name: str, j: int, size: float) -> float:
        return size * (1.0 + abs(float(self.u[name][0, j])))

    def slopes(
        self, function: Callable[[dict[str, Array]], dict[Any, Array]]
    ) -> tuple[DifferenceSlopes, dict]:
        """Slopes of a function's outputs, (columns, ...), by differences and, if it can, by complex step."""

        def difference(size: float) -> dict[Any, Array]:
            ahead, behind = function(self.stepped(size)), function(self.stepped(-size))
            width = np.array([2.0 * self._step(name, j, size) for name, j in self.columns])
            return {
                key: (ahead[key] - behind[key]) / width.reshape(-1, *[1] * (ahead[key].ndim - 1))
                for key in ahead
            }

        by_difference = DifferenceSlopes.at(difference, self.steps)
        return by_difference, self._complex_slopes(function, by_difference.value)

    def _complex_slopes(self, function, by_difference: dict) -> dict:
        """Those of outputs that accept complex numbers, which agreement with differences shows."""
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = function(self.stepped(complex(0.0, COMPLEX_STEP)))
        except Exception:  # blocks refuse complex numbers by exceptions of any type
            return {}
        slopes = {key: part.imag / COMPLEX_STEP for key, part in found.items() if np.iscomplexobj(part)}
        scale = {key: 1.0 + np.abs(by_difference[key]).max(initial=0.0) for key in slopes}
        return {
            key: part
            for key, part in slopes.items()
            if np.allclose(part, by_difference[key], rtol=1e-3, atol=1e-3 * scale[key])
        }

    def check_partials(self) -> None:
        partials, pattern = self.block.partials(self.u), self.block.pattern()
        by_difference, by_complex = self.slopes(self.block.value)
        at = self.block.value(self.u)
        for output, width in self.block.outputs.items():
            exact = output in by_complex
            expected = (by_complex if exact else by_difference.value)[output].T  # (m, columns)
            error, known = by_difference.error[output].T, by_difference.known[output].T
            size = 1.0 + max(np.abs(expected).max(initial=0.0), 1e-3 * np.abs(at[output]).max(initial=0.0))
            start = 0
            for name, inputs in self.block.inputs.items():
                got = np.zeros((width, inputs))
                if (output, name) in partials:
                    got = self._shaped(partials[output, name], (1, width, inputs), output, name)[0]
                mine = slice(start, start + inputs)
                want = expected[:, mine] if exact else np.where(known[:, mine], expected[:, mine], got)
                start += inputs
                self._compare(got, want, None if exact else error[:, mine], size, output, name)
                self._check_pattern(pattern.get((output, name)), want, got, size, output, name)

    def check_curvature(self, block: SecondOrderBlock, weights: dict[str, Array]) -> None:
        def gradient(u: dict[str, Array]) -> dict[str, Array]:
            nodes = next(iter(u.values())).shape[0]
            kind = np.result_type(*u.values(), float)
            total = {name: np.zeros((nodes, width), kind) for name, width in self.block.inputs.items()}
            for (output, name), part in self.block.partials(u).items():
                total[name] = total[name] + np.matmul(weights[output][:, None, :], part)[:, 0, :]
            return total

        curvature = block.curvature(self.u, weights)
        by_difference, by_complex = self.slopes(gradient)
        at = gradient(self.u)
        start = 0
        for second, width in self.block.inputs.items():
            for first, rows in self.block.inputs.items():
                exact, mine = first in by_complex, slice(start, start + width)
                expected = (by_complex if exact else by_difference.value)[first][mine].T
                error, known = by_difference.error[first][mine].T, by_difference.known[first][mine].T
                got = np.zeros((rows, width))
                if (first, second) in curvature:
                    got = self._shaped(curvature[first, second], (1, rows, width), first, second)[0]
                elif (second, first) in curvature:
                    got = self._shaped(curvature[second, first], (1, width, rows), second, first)[0].T
                size = 1.0 + max(np.abs(expected).max(initial=0.0), 1e-3 * np.abs(at[first]).max(initial=0.0))
                want = expected if exact else np.where(known, expected, got)
                self._compare(got, want, None if exact else error, size, first, second, curvature=True)
            start += width

    def _shaped(self, part: Array, shape: tuple[int, ...], output: str, name: str) -> Array:
        if np.shape(part) != shape:
            raise ShapeError(
                f"the derivative of {term_of(output)} by '{name}' has shape {np.shape(part)} at one node: "
                f"expected {shape}"
            )
        return np.asarray(part)

    def _compare(
        self,
        got: Array,
        want: Array,
        error: Array | None,
        size: float,
        output: str,
        name: str,
        curvature: bool = False,
    ) -> None:
        """DerivativeError where partials are not the slopes wanted.

        error : estimated for the slopes; None where they are exact, by complex step
        """
        exact = error is None
        tolerance = AGREEMENT * size if exact else DIFFERENCE_TOLERANCE * size + ERRORS_ALLOWED * error
        wrong = ~(np.abs(got - want) <= tolerance)
        if not wrong.any():
            return
        distance = np.where(np.isfinite(got), np.abs(got - want), np.inf)
        i, j = np.unravel_index(int(np.argmax(distance)), distance.shape)
        by = entry(name, int(j), self.block.inputs[name], self.components)
        how = "complex step" if exact else "central differences"
        if curvature:
            whose = term_of(next(iter(self.block.outputs)))
            of = entry(output, int(i), self.block.inputs[output], self.components)
            what = f"the second derivative of {whose} by {of} and {by}"
        else:
            what = f"the derivative of {entry(output, int(i), got.shape[0], self.components)} by {by}"
        raise DerivativeError(
            f"{what} is {got[i, j]:.9g}, but {how} of its own "
            f"{'partials' if curvature else 'values'} give {want[i, j]:.9g}: correct "
            f"{'curvature' if curvature else 'partials'}, or the value"
        )

    def _check_pattern(self, allowed, want, got, size: float, output: str, name: str) -> None:
        mask = np.zeros(want.shape, bool) if allowed is None else np.asarray(allowed, bool)
        if mask.shape != want.shape:
            raise ShapeError(
                f"the pattern of {term_of(output)} by '{name}' has shape {mask.shape}: expected {want.shape}"
            )
        missed = ((np.abs(want) > DIFFERENCE_TOLERANCE * size) | (got != 0.0)) & ~mask
        if missed.any():
            i, j = np.argwhere(missed)[0]
            raise DerivativeError(
                f"{entry(output, int(i), want.shape[0], self.components)} depends on "
                f"{entry(name, int(j), want.shape[1], self.components)}, which its pattern calls zero: "
                "mark the entry in pattern"
            )
