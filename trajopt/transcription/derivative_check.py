"""Checks derivatives of users' blocks against differences of their values, before the first solve.

At a random point near the guess, with direct inputs u and outputs y of a block,

    d y_i / d u_j           against  Im y_i(u + i h e_j) / h          where the block accepts complex numbers
                                     (y_i(u + h e_j) - y_i(u - h e_j)) / 2h   elsewhere
    d (w . dy/du) / d u_j   against the same steps of the partials, for random weights w

All steps of one block are nodes of one call, so a check costs a few evaluations. A central difference is
y' + h^2 y''' / 6 + rounding / h, and a term like sin(1500 q) needs another step than q^2: what one step h
calls wrong is looked at again with finer ones; slopes that no step determines are left alone.

Traced terms whose values or slopes jump near the motion that a solve starts from get a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import DerivativeError, EvaluationError, KinkWarning, ShapeError, warn_user
from trajopt.base.tolerances import AGREEMENT, ESTIMATED
from trajopt.graph.any_arithmetic import Border
from trajopt.graph.expression import ExpressionBlock, joined
from trajopt.graph.graph import Graph
from trajopt.graph.kinks import Kink, kink_of, sharp_root_of
from trajopt.graph.protocols import Block, SecondOrderBlock, SymbolicBlock, Term
from trajopt.graph.quantities import entry, term_of
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.terms.nonsmooth import SmoothedTerm, exact_of
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.leaf_map import SplineMap

Components = Callable[[str, int], list[str]]  # (quantity, width) -> the names of its components
STEP = float(np.cbrt(np.finfo(float).eps))  # where differences of smooth functions of size one are best
LADDER = tuple(STEP * 10.0**-k for k in range(5))
ANY_STEP = tuple(STEP * 10.0**-k for k in range(-3, 5))  # the coarsest for values in single precision
UNKNOWN_ERROR = 1e-3  # relative error from which a slope counts as not known
COMPLEX_STEP = 1e-30  # squares of it vanish beside one
DIFFERENCE_TOLERANCE = 3e-5  # relative to the size of the block's partials and values, for differences
STOPPED = "; a derivative of 0 comes from what stops derivatives, too: detach, no_grad, stop_gradient, int"
NOISE_STEP = ANY_STEP[2]  # second differences of smooth functions are 1e-9 there, those of noise its size
LOOKED_AT = 3  # nodes of a motion whose partials are compared entry by entry, at most
DISTANCE_FROM_GUESS = 0.1  # of the random point from the guess, relative to 1 + |u|


def check_problem(problem: Problem, graph: Graph | None = None) -> None:
    """Check every block of a problem once, unless its derivatives are known to be tested.

    A block whose attribute `derivatives_are_tested` is true is not checked (those of `dynamics` are tested).
    Of traced terms values and kinks are looked at: CasADi differentiates their elementary operations.
    Raises ShapeError for an output of the wrong shape, EvaluationError for one that is not finite at the
    guess or depends on more than its node, DerivativeError for a partial or a curvature that differs from the
    slope of the values; KinkWarning instead where a block takes its partials as differences of its values.

    graph : of all that is minimized or bounded, where it is known already
    """
    graph = graph or graph_of(problem, [each.term for each in (*problem.costs, *problem.stated)])
    lasting = {block for terms in problem._blocks.values() for _, blocks in terms for block in blocks}
    # Blocks of the dynamics are made anew for every graph; their outputs identify them.
    key = {block: block if block in lasting else tuple(block.outputs) for block in graph.blocks}
    checked = problem._tested_blocks
    untested = [block for block in graph.blocks if not getattr(block, "derivatives_are_tested", False)]
    fresh = [block for block in untested if key[block] not in checked]
    if not fresh:
        return
    spline_map = SplineMap.of(problem)
    z = spline_map.leaf_values(first_guess(problem, spline_map.layout), set(graph.leaves))
    components = problem.component_names
    values = _values_at_guess(graph, z, components)
    written = [block for block in fresh if not isinstance(block, ExpressionBlock)]
    for block in written:
        check_purity(block, values, components)
    for number, block in enumerate(written):
        try:
            check_block(block, values, components, np.random.default_rng(number))
        except DerivativeError:
            if not getattr(block, "derivatives_are_differences", False):
                raise
            warn_user(_inexact(block, "beside the guess"), KinkWarning)
    for block in fresh:
        if isinstance(block, ExpressionBlock):
            found = kink_of(block, values, given_quantities(problem))
            if found is not None:
                warn_user(_warning_of(block, found, components), KinkWarning)
        checked.add(key[block])
    warn_of_sharp_roots(problem, values, components)


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
        if implements(block, SecondOrderBlock) and not getattr(block, "derivatives_are_differences", False):
            point.check_curvature(block, weights)

    try:
        check((STEP,))
    except DerivativeError:
        check(LADDER)


def wrong_derivative(graph: Graph, values: Mapping[str, Array], components: Components) -> WrongDerivative:
    """A partial derivative of a user's block that its values contradict at a node.

    The check before a solve looks beside one node of the guess. Here every node of a motion is stepped at
    once, each in a random direction d of all inputs,

        (y(u + h d) - y(u - h d)) / 2h   against   dy/du d,

    and where these differ by a thousandth, entry by entry at that node. Kinks, where both sides of the step
    have other slopes, are left alone, and so is what no step determines, such as jumps. Values with noise
    give slopes to ten times noise / h, h the coarsest step.

    values : of every quantity of the graph at the nodes
    """
    inexact = ""
    for number, block in enumerate(graph.blocks):
        if getattr(block, "derivatives_are_tested", False) or isinstance(block, ExpressionBlock):
            continue
        rng = np.random.default_rng(number)
        with np.errstate(all="ignore"):
            nodes = _contradicted(block, {name: np.array(values[name]) for name in block.inputs}, rng)
            for node in nodes[:LOOKED_AT]:
                at = {name: np.array(values[name][node : node + 1]) for name in block.inputs}
                wrong = _wrong_partial(_Point(block, at, components, ANY_STEP))
                if not wrong or not all(
                    _wrong_partial(_Point(block, at, components, (step,))) for step in ANY_STEP
                ):
                    continue
                when = f"at t = {values['t'][node, 0]:.4g} s"
                if not getattr(block, "derivatives_are_differences", False):
                    return WrongDerivative(f"{wrong}, {when}", inexact)
                inexact = inexact or _inexact(block, when)
    return WrongDerivative("", inexact)


class WrongDerivative(NamedTuple):
    """A derivative that values contradict, in words; each part is empty where none is seen.

    stated : one that a block states
    inexact : one that a block takes as a difference of its values
    """

    stated: str
    inexact: str


def _inexact(block: Block, where: str) -> str:
    return (
        f"differences of {term_of(next(iter(block.outputs)))} reach across a kink or a steep part {where}: "
        "the optimum is that of their slopes; derivatives= takes exact ones"
    )


def _wrong_partial(point: _Point) -> str:
    try:
        point.check_partials()
    except DerivativeError as error:
        return str(error)
    except Exception:  # as where the block is not defined beside the point
        pass
    return ""


def _contradicted(block: Block, u: dict[str, Array], rng: np.random.Generator) -> Array:
    """Nodes whose partials every step along a random direction contradicts, the worst first.

    A node is stepped until one step agrees: mostly the first, so that a check costs two evaluations.
    """
    away = {name: (1.0 + np.abs(part)) * rng.uniform(-1.0, 1.0, part.shape) for name, part in u.items()}
    partials, here = block.partials(u), block.value(u)
    along, size = ({name: np.zeros_like(here[name]) for name in block.outputs} for _ in range(2))
    for (output, name), part in partials.items():
        along[output] += np.matmul(part, away[name][:, :, None])[..., 0]
        size[output] += np.matmul(np.abs(part), np.abs(away[name])[:, :, None])[..., 0]
    off, kink = ({name: np.full(here[name].shape, np.inf) for name in block.outputs} for _ in range(2))
    noise = {name: np.zeros(width) for name, width in block.outputs.items()}
    left = np.arange(len(next(iter(here.values()))))
    for h in (NOISE_STEP, *(step for step in ANY_STEP if step != NOISE_STEP)):
        try:
            ahead, behind = (
                block.value({name: part[left] + step * away[name][left] for name, part in u.items()})
                for step in (h, -h)
            )
        except Exception:  # blocks refuse what they are not defined for by exceptions of any type
            continue
        for name in block.outputs:
            slope = (ahead[name] - behind[name]) / (2.0 * h)
            bend = np.abs(ahead[name] - 2.0 * here[name][left] + behind[name])
            missed = np.abs(slope - along[name][left]) - UNKNOWN_ERROR * (size[name][left] + np.abs(slope))
            off[name][left] = np.fmin(off[name][left], missed)
            kink[name][left] = np.fmin(kink[name][left], bend / h)
            if h == NOISE_STEP and left.size == len(off[name]):
                known = bend[np.isfinite(bend).all(axis=1)]
                noise[name] = np.median(known, axis=0) if len(known) else noise[name]
        disagrees = [(off[name][left] > 0.0).any(axis=1) for name in block.outputs]
        left = left[np.any(disagrees, axis=0)]
        if not left.size:
            break
    beyond = [off[name] - ESTIMATED * (kink[name] + noise[name] / max(ANY_STEP)) for name in block.outputs]
    worst = np.max([np.where(np.isfinite(each), each, 0.0).max(axis=1) for each in beyond], axis=0)
    order = np.argsort(-worst, kind="stable")
    return order[worst[order] > 0.0]


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
                    f"{_cause_of(block, u, (name, int(component)), int(node), components)}"
                )
        u.update(found)
    return u


def _cause_of(
    block: Block, u: Mapping[str, Array], output: tuple[str, int], node: int, components: Components
) -> str:
    """The end of a message: inputs of a block, zero or negative at a node, of which a positive one helps."""
    at = {name: np.array(u[name][node : node + 1], dtype=float) for name in block.inputs}
    causes = []
    for name, values in at.items():
        for j in np.flatnonzero(values[0] <= 0.0):
            moved = values.copy()
            moved[0, j] = -values[0, j] or 1.0
            with np.errstate(all="ignore"):
                helped = np.isfinite(block.value(at | {name: moved})[output[0]][0, output[1]])
            if helped:
                causes.append(f"{entry(name, int(j), values.size, components)} = {values[0, j]:.4g}")
    named = " and ".join(causes)
    return f"; the guess has {named} there, where one positive value is enough" if causes else ""


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
class _Slopes:
    """Slopes of several outputs, (columns, ...) each, with their estimated errors.

    known : whether the error is small; zero stands for slopes that are not known
    exact : those by complex step, of outputs that accept complex numbers
    """

    value: dict[str, Array] = field(default_factory=dict)
    error: dict[str, Array] = field(default_factory=dict)
    known: dict[str, Array] = field(default_factory=dict)
    exact: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class _Point:
    """A block at one point, and how it changes when each input component is stepped."""

    block: Block
    u: dict[str, Array]
    components: Components
    steps: Sequence[float]

    def stepped(self, size: complex) -> tuple[dict[str, Array], Array]:
        """One node per input component, stepped by size (1 + |u|), or by a complex size itself; the steps."""
        u = np.concatenate([part[0] for part in self.u.values()])
        steps = np.full(u.size, size) if isinstance(size, complex) else size * (1.0 + np.abs(u))
        ends = np.cumsum([part.shape[1] for part in self.u.values()])[:-1]
        moved = np.split(u + np.diag(steps), ends, axis=1)
        return dict(zip(self.u, moved, strict=True)), steps

    def slopes(self, function: Callable[[dict[str, Array]], dict[str, Array]]) -> _Slopes:
        """Slopes of a function's outputs, by central differences and, if it can, by complex step.

        At one step, whose error is not estimated, or at a ladder of steps: there every slope is taken where
        it changes least to the next finer step, and that change is the estimate of its error.
        """
        ladder: dict[str, list[Array]] = {}
        for step in self.steps:
            (ahead, width), (behind, _) = self.stepped(step), self.stepped(-step)
            after, before = function(ahead), function(behind)
            for key in after:
                ladder.setdefault(key, []).append(((after[key] - before[key]).T / (2.0 * width)).T)
        found = _Slopes()
        for key, several in ladder.items():
            change, single = np.abs(np.diff(several, axis=0)), len(several) == 1
            change = np.zeros((1, *several[0].shape)) if single else change
            best = np.nanargmin(np.where(np.isfinite(change), change, np.inf), axis=0)[None]
            slope = np.take_along_axis(np.stack(several), best, 0)[0]
            found.error[key] = np.take_along_axis(change, best, 0)[0]
            found.known[key] = single | (found.error[key] <= UNKNOWN_ERROR * (1.0 + np.abs(slope)))
            found.value[key] = np.where(found.known[key], slope, 0.0)
        found.exact.update(self._complex_slopes(function, found.value))
        return found

    def _complex_slopes(self, function, by_difference: dict[str, Array]) -> dict[str, Array]:
        """Slopes by complex steps, of outputs whose slopes agree with differences."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = function(self.stepped(complex(0.0, COMPLEX_STEP))[0])
        except Exception:  # blocks refuse complex numbers by exceptions of any type
            return {}
        slopes = {key: part.imag / COMPLEX_STEP for key, part in found.items() if np.iscomplexobj(part)}
        scale = {key: 1.0 + np.abs(by_difference[key]).max(initial=0.0) for key in slopes}
        return {
            key: part
            for key, part in slopes.items()
            if np.allclose(part, by_difference[key], rtol=UNKNOWN_ERROR, atol=UNKNOWN_ERROR * scale[key])
        }

    def check_partials(self) -> None:
        self._check(self.block.value, self.block.outputs, self.block.partials(self.u), self.block.pattern())

    def check_curvature(self, block: SecondOrderBlock, weights: dict[str, Array]) -> None:
        def gradient(u: dict[str, Array]) -> dict[str, Array]:
            nodes = next(iter(u.values())).shape[0]
            kind = np.result_type(*u.values(), float)
            total = {name: np.zeros((nodes, width), kind) for name, width in self.block.inputs.items()}
            for (output, name), part in self.block.partials(u).items():
                total[name] = total[name] + np.matmul(weights[output][:, None, :], part)[:, 0, :]
            return total

        curvature = block.curvature(self.u, weights)
        mirrored = {(two, one): np.swapaxes(part, 1, -1) for (one, two), part in curvature.items()}
        self._check(gradient, self.block.inputs, mirrored | dict(curvature))

    def _check(
        self,
        function: Callable[[dict[str, Array]], dict[str, Array]],
        outputs: Mapping[str, int],
        given: Mapping[tuple[str, str], Array],
        pattern: Mapping[tuple[str, str], Array] | None = None,
    ) -> None:
        """Compare given derivatives of outputs with its slopes; second ones without a pattern."""
        slopes, at = self.slopes(function), function(self.u)
        for output, width in outputs.items():
            exact, start = output in slopes.exact, 0
            expected = (slopes.exact if exact else slopes.value)[output].T  # (width, columns)
            largest = np.abs(expected).max(initial=0.0), UNKNOWN_ERROR * np.abs(at[output]).max(initial=0.0)
            for name, inputs in self.block.inputs.items():
                mine, start = slice(start, start + inputs), start + inputs
                part = np.asarray(given.get((output, name), np.zeros((1, width, inputs))))
                if part.shape != (1, width, inputs):
                    raise ShapeError(
                        f"the derivative of {term_of(output)} by '{name}' has shape {part.shape} at one "
                        f"node: expected {(1, width, inputs)}"
                    )
                known, error = slopes.known[output].T[:, mine], slopes.error[output].T[:, mine]
                want = expected[:, mine] if exact else np.where(known, expected[:, mine], part[0])
                size = 1.0 + max(largest)
                self._compare(part[0], want, None if exact else error, size, output, name, pattern is None)
                if pattern is not None:
                    self._check_pattern(pattern.get((output, name)), want, part[0], size, output, name)

    def _compare(
        self,
        got: Array,
        want: Array,
        error: Array | None,
        size: float,
        output: str,
        name: str,
        curvature: bool,
    ) -> None:
        """DerivativeError where partials are not the slopes wanted.

        error : estimated for the slopes; None where they are exact, by complex step
        """
        exact = error is None
        tolerance = AGREEMENT * size if exact else DIFFERENCE_TOLERANCE * size + ESTIMATED * error
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
            + (STOPPED if got[i, j] == 0.0 else "")
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


ADVICE: Mapping[Border, str] = {
    "absolute value": "costs and upper bounds have trajopt.absolute(term), which is exact",
    "maximum or minimum": "costs and upper bounds have trajopt.maximum(term, ...), lower bounds "
    "trajopt.minimum(term, ...), which are exact",
    "comparison": "make the transition smooth (by np.tanh) or let phases (trajopt.Phases) meet there",
    "step": "make the transitions smooth (by np.tanh), or leave the rounding out",
    "turn": "measure how far an angle is from another by the sine and cosine of their difference",
}


def warn_of_sharp_roots(
    problem: Problem, values: Mapping[str, Array], components: Callable[[str, int], list[str]]
) -> None:
    """KinkWarning where a root in a cost or an upper bound turns within a small part of its range.

    values : of every quantity at the nodes of a motion
    """
    fixed = given_quantities(problem)
    for term in dict.fromkeys(_pressed_down(problem)):
        every = problem.blocks_of(term)
        blocks = [block for block in every if implements(block, SymbolicBlock)]
        if len(blocks) < len(every):
            continue
        widths = {name: width for block in blocks for name, width in block.inputs.items()}
        whole = joined(blocks, widths, {term.quantity})
        root = sharp_root_of(whole, values, fixed) if values.keys() >= whole.inputs.keys() else None
        if root is not None:
            at, column, value = root.where
            warn_user(
                f"'{term.name}': a root turns near {entry(at, column, whole.inputs[at], components)} = "
                f"{value:.4g}, where it is {root.least:.2g}, within a small part of its range, "
                f"{root.usual:.2g}: solvers may take a thousand iterations. Costs and upper bounds have "
                "trajopt.norm(term) and trajopt.absolute(term), which are exact; else smooth a root over a "
                "tenth of its range. If the motion stays away from there, ignore "
                "trajopt.base.errors.KinkWarning by warnings.simplefilter",
                KinkWarning,
            )


def _pressed_down(problem: Problem) -> Iterator[Term]:
    """Terms that are minimized or bounded from above alone, those smoothed on purpose left out."""
    stated = [cost.term for cost in problem.costs]
    stated += [
        each.term
        for each in (*problem.constraints, *problem.integrals)
        if np.any(np.isfinite(each.upper) & ~np.isfinite(each.lower))
    ]
    yield from (term for term in stated if exact_of(term) is term and not isinstance(term, SmoothedTerm))


def given_quantities(problem: Problem) -> set[str]:
    """Quantities of which no unknown is part: time and data, where all durations are fixed."""
    if problem.trajectory.has_free_duration:
        return set()
    return {"t", "time", "duration", *(data.quantity for data in problem.datasets.values())}


def _warning_of(block: ExpressionBlock, kink: Kink, components: Callable[[str, int], list[str]]) -> str:
    (output, i), (name, j), (at, column, value) = kink.entry, kink.by, kink.where
    what = "value" if kink.what == "value" else f"slope by {entry(name, j, block.inputs[name], components)}"
    return (
        f"{entry(output, i, block.outputs[output], components)}: its {what} jumps from {kink.before:.4g} to "
        f"{kink.after:.4g} at {entry(at, column, block.inputs[at], components)} = {value:.4g}, in "
        f"{'an' if kink.operation[0] == 'a' else 'a'} {kink.operation}. Solvers need continuous slopes: "
        f"{ADVICE[kink.operation]}. If the motion stays away from there, ignore "
        "trajopt.base.errors.KinkWarning by warnings.simplefilter"
    )
