"""The parts of a problem: from them follow blocks, widths, names and units of terms, and copies on meshes.

Breakpoints of data, where a given curve jumps or bends, and the ends of windows become breakpoints of a
collocation mesh.

On an interval inside which a given curve jumps, no polynomial meets x' = f: errors stay as large as the jump
whatever the order. With a breakpoint there both sides are smooth.

`Refinement` is the protocol of what improves a solution by further solves.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import is_, is_not
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_instance, implements
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, near_matches
from trajopt.graph.data import Data
from trajopt.graph.protocols import Block, Dynamics, NamedTerm, Term
from trajopt.graph.quantities import (
    EXTRA,
    SPLINE_LEAVES,
    DeclaredQuantity,
    QuantityTable,
    SplineLeaf,
    bare,
    described_joints,
    extra_leaf,
    parameter_leaf,
    quantity_of,
    rate_leaf,
)
from trajopt.problem import input_checks
from trajopt.problem.constraints.coordinate_bounds import LowerContinuity, check_borders
from trajopt.problem.constraints.designs import Design
from trajopt.problem.constraints.slacks import IntegralConstraint, Slack
from trajopt.problem.contacts.closure import Closure
from trajopt.problem.contacts.contact import Contact
from trajopt.problem.costs_and_constraints import (
    AdditionalCurve,
    Constraint,
    Cost,
    Parameter,
    Periodicity,
    Recipe,
    Relaxation,
)
from trajopt.problem.guess import start_from
from trajopt.problem.systems.controls import curves_on
from trajopt.problem.systems.state_equations import StateEquations, unit_of_rate
from trajopt.problem.systems.system import System
from trajopt.solvers.solver import Callback, Solver
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.node_sets import PATH, NodeSet
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.arithmetic import Combination, FunctionOf, Product, Squared
from trajopt.terms.nonsmooth import Norm, SumOfSquares
from trajopt.terms.term import BlockTerm, ComponentTerm, SliceTerm, StateTerm, components_read, operands_of

START_TIME = "start time"  # the parameter of a motion whose start is free
PURE = "1"  # the unit of a number without one
SHORTEST_WINDOW = 1e-5  # of an arc: a shorter one has no interval of its own
SHORTEST_INTERVAL = 0.1 * SHORTEST_WINDOW  # of an arc: splines on a tenth of it, halved, cannot be told

T = TypeVar("T")
P = TypeVar("P", bound="ProblemParts")


@dataclass(eq=False, repr=False)
class ProblemParts:
    """The parts of a problem, and properties that follow from these alone."""

    dynamics: Dynamics
    trajectory: Trajectory = None  # type: ignore[assignment]  # the default: one that fits the dynamics
    name: str = "problem"
    costs: list[Cost] = field(default_factory=list, init=False)
    constraints: list[Constraint] = field(default_factory=list, init=False)
    periodicities: list[Periodicity] = field(default_factory=list, init=False)
    integrals: list[IntegralConstraint] = field(default_factory=list, init=False)
    extras: dict[str, AdditionalCurve] = field(default_factory=dict, init=False)
    slacks: dict[str, Slack] = field(default_factory=dict, init=False)
    loads: dict[str, Any] = field(default_factory=dict, init=False)
    parameters: dict[str, Parameter] = field(default_factory=dict, init=False)
    designs: dict[str, Design] = field(default_factory=dict, init=False)
    datasets: dict[str, Data] = field(default_factory=dict, init=False)
    guessed_curve: Any = field(default=None, init=False)
    guessed_durations: NDArray[np.float64] | None = field(default=None, init=False)
    earlier: Any = field(default=None, init=False)  # the problem whose solution is the guess
    passive_joints: dict[str, tuple[NodeSet, ...]] = field(default_factory=dict, init=False)
    lower_continuities: list[LowerContinuity] = field(default_factory=list, init=False)
    contacts: dict[str, Contact] = field(default_factory=dict, init=False)
    closures: dict[str, Closure] = field(default_factory=dict, init=False)
    recipe: Recipe | None = field(default=None, init=False)
    solver: Solver | None = field(default=None, init=False)
    refinement: Refinement | None = field(default=None, init=False)
    starts: int = field(default=1, init=False)
    measured: bool = field(default=False, init=False)  # whether its start is a measurement, which has noise
    relaxations: tuple[Relaxation, ...] = field(default=(), init=False)  # what a measured start contradicted
    start_time: float | None = field(default=0.0, init=False)  # s; None where it is a parameter
    unsaved: dict[str, str] = field(default_factory=dict, init=False)  # what its file does not hold -> why
    _blocks: dict[str, input_checks.TracedTerms] = field(default_factory=dict, init=False, repr=False)
    _tested_blocks: set[object] = field(default_factory=set, init=False, repr=False)
    _quantities: tuple[list[object], QuantityTable | None] = field(default=([], None), init=False, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """The pickled state: without traced blocks, which hold compiled functions."""
        return vars(self) | {"_blocks": {}, "_tested_blocks": set(), "_quantities": ([], None)}

    def independent_copy(self: P) -> P:
        """A copy whose lists, dictionaries and sets are its own: adding to one leaves the other as it is."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (list, dict, set)):
                setattr(other, name, value.copy())
        return other

    def guess(self, q: Any = None, duration: ArrayLike | None = None, *, x: Any = None) -> None:
        """Start from a `Solution`, a curve q(s) -> (..., n) of normalised time, or even samples (k, n).

        x : the same for the states of a system; duration : of the whole motion, or one number per arc
        A curve may give the values of all additional curves behind the joints'. Of a solution the curve, the
        parameters of the same name and, where none are given, the durations are taken.
        Another problem of these joints, an easier one, is solved first by `solve`, with the solver that it
        recommends and from its own guess, and its answer is the guess, converged or not. Elsewhere, and in a
        problem of `Phases`, the guess from before stands, or that of the other problem where there is none.
        """
        start_from(self, q, x, duration)

    def on(self: P, trajectory: Trajectory) -> P:
        """A copy on another trajectory, without a guess; a change of one problem leaves the other alone.

        Raises OptionError for a trajectory that cannot hold the equations or the controls of the problem.
        """
        other = self.independent_copy()
        other._tested_blocks = self._tested_blocks  # a block that is tested on one mesh is tested on all
        other.trajectory = fitting_trajectory(self.dynamics, trajectory)
        other.trajectory = at_breakpoints(other, other.trajectory)
        if self.lower_continuities:
            check_borders(other.trajectory, self.lower_continuities)
        other.extras = curves_on(self.extras, other.trajectory) if self.extras else {}
        other.guessed_curve = other.guessed_durations = other.earlier = None
        return other

    @property
    def parts(self: P) -> tuple[P, ...]:
        """The problem itself; of `Phases` all problems."""
        return (self,)

    @property
    def phase_names(self) -> tuple[str, ...]:
        """One empty name, as a problem is no phase; of `Phases` those of all problems."""
        return ("",)

    def with_problems(self: P, problems: tuple[P, ...]) -> P:
        """Another problem in place of this one; of `Phases` the same links between others."""
        (other,) = problems
        return other

    @property
    def quantities(self) -> QuantityTable:
        """Every quantity that a term may ask for: width, names of components, unit."""
        # The declarations are values: as long as they are these objects, the table is that of before.
        stated: list[object] = [self.dynamics]
        stated += [*self.parameters.values(), *self.datasets.values(), *self.extras.values()]
        last, known = self._quantities
        if known is None or len(last) != len(stated) or any(map(is_not, last, stated)):
            defined = {"time": DeclaredQuantity(1, "s", "time, the start of the motion included")}
            defined |= {parameter_leaf(p.name): _declared(p, p.unit) for p in self.parameters.values()}
            defined |= {
                data.quantity: DeclaredQuantity(data.width, data.unit, "") for data in self.datasets.values()
            }
            for name, curve in self.extras.items():
                unit = curve.unit or getattr(self.dynamics, "units", {}).get(name, "")
                defined[extra_leaf(name)] = _declared(curve, unit, curve.components)
                if curve.has_rate:
                    defined[rate_leaf(name)] = _declared(curve, unit_of_rate(unit), curve.components)
            known = QuantityTable(self.dynamics, defined)
            self._quantities = stated, known
        return known

    def width_of(self, quantity: str) -> int:
        """Number of components of a leaf or an output of the dynamics; UnknownNameError for another name."""
        return self.quantities(quantity)

    def blocks_of(self, term: Term) -> tuple[Block, ...]:
        """The blocks of a term, traced once however often the term is used."""
        quantity = quantity_of(term)
        known = self._blocks.get(quantity, ())
        for other, blocks in known:
            if other is term or other == term:
                return blocks
        table, data = self.quantities, self.datasets.values()
        blocks = input_checks.checked_blocks(term, self.dynamics, table, data, self._blocks)
        for part in {output for block in blocks for output in block.outputs} - self._blocks.keys():
            self._blocks[part] = ((term, blocks),)
        self._blocks[quantity] = (*known, (term, blocks))
        input_checks.check_components(term, self.width_of_term(term))
        return blocks

    def width_of_term(self, term: Term) -> int:
        """Number of components of a term."""
        for block in self.blocks_of(term):
            if term.quantity in block.outputs:
                return block.outputs[term.quantity]
        return self.width_of(term.quantity)

    def component_names(self, quantity: str, width: int) -> list[str]:
        """Names of a quantity's components in reports: joint names where there is one per joint.

        Else the names that its term gives them, or axes, or numbers; the name of a scalar is empty.
        """
        key, table = bare(quantity), self.quantities
        known = self._blocks.get(key)
        names = (_names_of_term(*known[0], table) if known else ()) or table.components(key)
        if len(names) == width:
            return list(names)
        return [""] if width == 1 else [str(i) for i in range(width)]

    def term_units(self, term: Term, width: int) -> list[str]:
        """The units (width,) of the components of a term; "" where none is known.

        A term's own unit counts first. Of arithmetic, units follow where no factor other than 1 and -1
        enters, which may itself have a unit: those of sums, products and maxima whose terms agree, of squares
        and functions.
        """
        own = getattr(term, "unit", "")
        if own:
            return [own] * width if isinstance(own, str) else list(own)
        if isinstance(term, StateTerm):
            quantity, component = self.quantities.aliases.get(term.name, (term.name, None))
            units = np.array(self.quantity_units(quantity, self.width_of(quantity)))
            return np.atleast_1d(units if component is None else units[component]).tolist()
        if isinstance(term, ComponentTerm | SliceTerm):
            units = self.quantity_units(term.base, self.width_of(term.base))
            return [units[i] for i in components_read(term, len(units))[1]]
        if isinstance(term, FunctionOf):
            return ["" if term.function == "sqrt" else PURE] * width
        if isinstance(term, Norm | SumOfSquares):
            units = {*self.term_units(term.base, self.width_of_term(term.base))}
            unit = units.pop() if len(units) == 1 else ""
            return [power(unit, 2) if isinstance(term, SumOfSquares) else unit] * width
        if isinstance(term, Combination) and any(factor not in (1.0, -1.0) for factor, _ in term.parts):
            return [""] * width
        several = [self.term_units(part, width) for part in operands_of(term)]
        if several:
            units = [each[0] if len(set(each)) == 1 else "" for each in zip(*several, strict=True)]
            return [power(unit, 2) for unit in units] if isinstance(term, Squared | Product) else units
        return self.quantity_units(term.quantity, width)

    def quantity_units(self, quantity: str, width: int) -> list[str]:
        """The units (width,) of a quantity by its key, "tau" or "parameter:load"; "" where none is known."""
        dynamics, name = self.dynamics, quantity.removeprefix(EXTRA)
        if quantity != name and name in self.slacks:
            return self.term_units(self.slacks[name].maximum, width)
        if quantity in SPLINE_LEAVES and isinstance(dynamics, System):
            order = SPLINE_LEAVES.index(quantity)
            units = [dynamics.units.get(name, "") for name, _, _ in dynamics.rates_of_states]
            return [unit_of_rate(unit, order) if order else unit for unit in units]
        declared = self.quantities.known(quantity)
        unit = "" if declared is None else declared.unit
        if "; " in unit:  # of a wrench or a twist: three components of each
            first, second = unit.split("; ")
            return [first] * (width // 2) + [second] * (width - width // 2)
        turning, _, sliding = unit.partition(" or ")
        kinds = {joint.name: joint.kind for joint in described_joints(dynamics)} if sliding else {}
        if not kinds:
            return [unit] * width
        by_kind = {"revolute": turning, "rotation_vector": turning, "prismatic": sliding}
        return [by_kind.get(kinds.get(name, ""), unit) for name in self.component_names(quantity, width)]

    def figure_labels(self, quantity: str, width: int) -> list[str]:
        """Names of components in figures and tables: "force", or "force x" ..., of an additional curve."""
        names, extra = self.component_names(quantity, width), quantity.removeprefix(EXTRA)
        if extra == quantity:
            return names
        return [extra] if width == 1 else [f"{extra} {name}" for name in names]

    @property
    def stated(self) -> tuple[Constraint | IntegralConstraint | Periodicity, ...]:
        """Everything that must hold and has a name: constraints, bounded integrals, periodicities."""
        return (*self.constraints, *self.integrals, *self.periodicities)

    def path_limits(self) -> list[Constraint]:
        """The inequality constraints over the whole path."""
        return [c for c in self.constraints if c.over == PATH and not np.all(c.lower == c.upper)]

    @property
    def spline_leaves(self) -> dict[str, SplineLeaf]:
        """The leaves that are derivatives of curves, with their order and their curves."""
        cursor, group = self.dynamics.n, 0
        leaves = {leaf: SplineLeaf(order, slice(0, cursor)) for order, leaf in enumerate(SPLINE_LEAVES)}
        for name, curve in self.extras.items():
            group += curve.pieces is not None  # a basis of its own: these curves come last
            own = slice(cursor, cursor + curve.lower.size)
            leaves[extra_leaf(name)] = SplineLeaf(0, own, group)
            if curve.has_rate:
                leaves[rate_leaf(name)] = SplineLeaf(1, own, group)
            cursor = own.stop
        return leaves

    @property
    def continuity_at_borders(self) -> Array:
        """The number of continuous derivatives of every coordinate where arcs meet, (arcs - 1, n).

        The lowest order that is given for a border holds; -1 where the coordinate itself may jump.
        """
        count = len(self.trajectory.arcs) - 1
        found = np.full((count, self.dynamics.n), self.trajectory.continuity)
        for lower_continuity in self.lower_continuities:
            place = found[lower_continuity.borders(count), lower_continuity.coordinate]
            place[:] = np.minimum(place, lower_continuity.order)
        return found

    @property
    def extra_widths(self) -> dict[str, int]:
        """Number of components of every additional curve."""
        return {name: extra.lower.size for name, extra in self.extras.items()}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # Python asks for those that a copy may have
                raise AttributeError(name)
            hint = ": write problem.minimize(term, weight=-1.0)" if name == "maximize" else ""
            raise AttributeError(f"a problem has no '{name}'{hint or near_matches(name, dir(self))}")


@contextmanager
def all_or_nothing(problem: ProblemParts) -> Iterator[None]:
    """Leave a problem as it was where an error is raised."""
    before = vars(problem.independent_copy())
    try:
        yield
    except Exception:
        vars(problem).update(before)
        raise


def power(unit: str, exponent: int) -> str:
    """A power of a unit: "m^2", "(N m)^2"; of none, none."""
    if unit in ("", PURE):
        return unit
    return f"{unit}^{exponent}" if re.fullmatch(r"\w+", unit) else f"({unit})^{exponent}"


def checked_problem(problem: T) -> T:
    """`problem` itself; ShapeError for an object that is no problem."""
    check_instance("the problem", problem, ProblemParts, "a trajopt.Problem, as build() makes", ShapeError)
    return problem


def _names_of_term(term: Term, blocks: Iterable[Block], table: QuantityTable) -> tuple[str, ...]:
    """Names of a term's components: its own, those of the term it is made of, or the joints' names.

    The joints give their names where there is one component for each, which depends on that joint alone.
    Empty where there are no names.
    """
    if implements(term, NamedTerm) and term.components:
        return tuple(term.components)
    if table.is_per_joint(term.quantity):
        return table.joint_names
    if isinstance(term, SliceTerm):
        return tuple(term.of(table.components(term.base)))
    for operand in operands_of(term)[:1]:
        return _names_of_term(operand, blocks, table)
    block = next((block for block in blocks if term.quantity in block.outputs), None)
    if block is None or block.outputs[term.quantity] != len(table.joint_names):
        return table.components(term.quantity)
    # Blocks of users rarely give their sparsity: n components are then taken to be one per joint.
    named = isinstance(term, BlockTerm) or _one_joint_each(block, term.quantity, table)
    return table.joint_names if named else ()


def _one_joint_each(block: Block, quantity: str, table: QuantityTable) -> bool:
    """True if component i of an output depends on joint i alone, as far as it depends on joints."""
    square = np.eye(block.outputs[quantity], dtype=bool)
    found = False
    for (output, source), pattern in block.pattern().items():
        if output == quantity and table.is_per_joint(source):
            if np.any(pattern & ~square):
                return False
            found = True
    return found


def _declared(unknown: Any, unit: str, components: tuple[str, ...] = ()) -> DeclaredQuantity:
    return DeclaredQuantity(unknown.lower.size, unit, "", components)


def default_trajectory(dynamics: Dynamics) -> Trajectory:
    """A mesh of free duration: collocation for states of first order."""
    return Trajectory.collocation() if isinstance(dynamics, StateEquations) else Trajectory.uniform()


def fitting_trajectory(dynamics: Dynamics, trajectory: Trajectory) -> Trajectory:
    """The trajectory with the derivatives of a dynamics' equations.

    OptionError for one that cannot hold the equations.
    """
    has_states = isinstance(dynamics, StateEquations)
    check_instance("the trajectory", trajectory, Trajectory, "one such as trajopt.Trajectory.uniform(20)")
    if has_states and trajectory.scheme is None:
        raise OptionError(
            f"the states ({', '.join(dynamics.states)}) of a system need a mesh with as many nodes as their "
            f"equations have coefficients, not {trajectory}: use Trajectory.collocation(intervals, order)"
        )
    return trajectory.for_equations_of_order(1 if isinstance(dynamics, System) else 2)


def at_breakpoints(
    problem: ProblemParts, trajectory: Trajectory, stated: Collection[NodeSet] = ()
) -> Trajectory:
    """The trajectory with breakpoints and nodes where the problem, and what is `stated`, needs them.

    A collocation mesh gets breakpoints at the ends of windows and where given data jump or bend, if these
    places are known: data in seconds have none where the start or a duration is free. Another trajectory gets
    the nodes of single times alone.
    """
    overs = [each.over for each in (*problem.costs, *problem.constraints, *problem.integrals)] + [*stated]
    mesh, no_window = trajectory, bool(stated) and all(over.window(trajectory) is None for over in stated)
    if trajectory.scheme is not None and not no_window:
        mesh = _with_breakpoints(
            trajectory, *_from_data(problem, trajectory), _from_windows(overs, trajectory)
        )
    for over in stated if stated and mesh is trajectory else overs:
        mesh = over.placed_on(mesh)
    return mesh


def _with_breakpoints(trajectory: Trajectory, steps: Array, bends: Array, windows: Array) -> Trajectory:
    """A collocation mesh with breakpoints at places, each by number of the arc plus normalised time in it.

    OptionError where steps of data and ends of windows leave an interval that is too short. Bends of data
    beside them, or beside others, have no breakpoint of their own.
    """
    assert trajectory.scheme is not None
    arcs = []
    for number, arc in enumerate(trajectory.arcs):
        before, divides = arc.basis.breakpoints, np.isin(arc.basis.breakpoints, arc.divided_at)
        jumps, lines, ends = (_within_arc(places, number) for places in (steps, bends, windows))
        # Data with more than four breakpoints for every interval that was given leave the mesh
        if np.union1d(jumps, lines).size > 4 * (before.size - 1 - np.count_nonzero(divides)):
            jumps = lines = np.empty(0)
        exact = np.unique([0.0, *jumps, *ends, 1.0])
        exact = exact[np.diff(exact, prepend=-1.0) > SAME_TIME]
        widths = np.diff(exact)
        if widths[k := int(np.argmin(widths))] < SHORTEST_INTERVAL:
            raise OptionError(
                f"in arc {number}, ends of windows or steps of data at {exact[k]:.10g} and "
                f"{exact[k + 1]:.10g} (normalised time) are too close, {widths[k]:.2g} apart: make them "
                f"equal, or at least {SHORTEST_INTERVAL:g} apart"
            )
        lines = np.unique(lines[~_are_near(lines, exact, SHORTEST_INTERVAL)])
        lines = lines[np.diff(lines, prepend=-1.0) > SHORTEST_INTERVAL]
        places = np.union1d(exact[1:-1], lines)
        new = places[~_are_near(places, before)]
        if new.size:
            gives_way = _beside(before, new, places)
            replaced = before[gives_way & ~divides]  # by the nearest new one each; the others divide
            dividing = np.delete(new, np.abs(new[:, None] - replaced).argmin(axis=0))
            basis = trajectory.scheme.basis(np.union1d(new, before[~gives_way]), trajectory.continuity + 1)
            arc = replace(arc, basis=basis, divided_at=(*before[divides & ~gives_way], *dividing))
        arcs.append(arc)
    unchanged = all(map(is_, arcs, trajectory.arcs))
    return trajectory if unchanged else replace(trajectory, arcs=tuple(arcs))


def _are_near(places: Array, others: Array, within: float = SAME_TIME) -> Array:
    """Mask of the places (k,) at which one of the others is."""
    return np.abs(places[:, None] - others).min(axis=1, initial=np.inf) <= within


def _within_arc(places: Array, number: int) -> Array:
    """Normalised times of the places inside an arc."""
    return places[(places > number + SAME_TIME) & (places < number + 1.0 - SAME_TIME)] - number


def _from_windows(overs: Iterable[NodeSet], trajectory: Trajectory) -> Array:
    """The ends of windows; one that is too short for an interval of its own means its nodes."""
    windows = [window for over in overs if (window := over.window(trajectory)) is not None]
    return np.array([end for window in windows if np.ptp(window) >= SHORTEST_WINDOW for end in window])


def _from_data(problem: ProblemParts, trajectory: Trajectory) -> tuple[Array, Array]:
    """Places where given data step, and where they bend, if known.

    OptionError for steps on a mesh of Lobatto points.
    """
    found: dict[bool, list[Array]] = {True: [np.empty(0)], False: [np.empty(0)]}
    for data in problem.datasets.values():
        steps = data.interpolation == "steps"
        if steps and trajectory.scheme and trajectory.scheme.points == "lobatto":
            raise OptionError(
                "data in steps need equations on one side of each jump alone, but Lobatto points are at the "
                "same time on both sides: use Trajectory.collocation(intervals, order, 'radau')"
            )
        found[steps].append(_normalised(trajectory, data, problem.start_time))
    return np.concatenate(found[True]), np.concatenate(found[False])


def _normalised(trajectory: Trajectory, data: Data, start: float | None) -> Array:
    """Breakpoints by number of the arc and normalised time in it; none where these are not known."""
    arcs, times = len(trajectory.arcs), data.breakpoints
    if data.clock == "progress":
        return times * arcs if arcs == 1 or not trajectory.has_free_duration else np.empty(0)
    if start is None or trajectory.has_free_duration:
        return np.empty(0)
    ends = np.concatenate([[0.0], np.cumsum(trajectory.duration_bounds[0])])
    inside = times[(times > start) & (times < start + ends[-1])] - start
    return np.interp(inside, ends, np.arange(arcs + 1.0))


def _beside(before: Array, new: Array, places: Array) -> Array:
    """Mask of the breakpoints before (k,) that lie beside new ones and are no places themselves."""
    inner, widths = before[1:-1], np.diff(before)
    # A breakpoint gives way to a place within a quarter of the shorter neighbouring interval
    near = np.abs(inner[:, None] - new).min(axis=1) < 0.25 * np.minimum(widths[:-1], widths[1:])
    return np.pad(near & ~_are_near(inner, places), 1)


@runtime_checkable
class Refinement(Protocol):
    """Makes a better `Solution` from a `Solution`, by further solves with the solver.

    A class whose `refine` also makes a better `PhasesSolution` from a `PhasesSolution` says so by a class
    attribute `takes_links` = True; one without that attribute is for single problems. One that leaves limits
    between nodes to `LimitNodes`, which then follows, says so by `holds_limits` = False; where these
    moved the motion both follow once more.
    """

    def refine(self, solution: Any, solver: Solver, progress: Callback | None = None) -> Any: ...


def check_refinement(refine: object, what: str) -> None:
    """Raise OptionError for an object that is neither None nor an instance with a method `refine`."""
    if refine is not None:
        check_instance(what, refine, Refinement, "an instance such as trajopt.Certified(tol=1e-6)")
