"""The computational graph of a problem's terms, and what follows from it, as the order of a limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.errors import GraphCycleError, ProblemError, ShapeError
from trajopt.graph.elementary import Power, WeightedSum
from trajopt.graph.graph import Graph, completed
from trajopt.graph.protocols import Block, Term
from trajopt.graph.quantities import TIME_LEAVES, TORQUES, extra_leaf, integrand, parameter_leaf, term_of
from trajopt.problem.problem_parts import START_TIME
from trajopt.problem.systems.system import System

if TYPE_CHECKING:
    from trajopt.problem.costs_and_constraints import Constraint
    from trajopt.problem.problem import Problem

LOAD, DESIGN = "load:", "design:"  # the inputs of a dynamics block that carry loads and designed properties


def leaf_widths(problem: Problem) -> dict[str, int]:
    """Every leaf of a problem's graph and its width."""
    leaves, table = (*problem.spline_leaves, *TIME_LEAVES), problem.quantities
    return {leaf: table(leaf) for leaf in (*leaves, *map(parameter_leaf, problem.parameters))}


def graph_of(problem: Problem, terms: Iterable[Any], integrated: Iterable[Any] = ()) -> Graph:
    """The graph of blocks that computes all terms, their inputs from the dynamics, and integrands T * term.

    Quantities from which a load follows, the base wrench for instance, are those of the robot without the
    problem's loads; torques and joint wrenches are those under the loads. Raises GraphCycleError for a load
    that needs the torques it changes.
    """
    terms, integrated, leaves = list(terms), list(integrated), leaf_widths(problem)
    blocks = _term_blocks(problem, (*terms, *integrated))
    wanted = {term.quantity for term in (*terms, *integrated)} | _inputs(blocks.values())
    under_load = problem.quantities.changed_by_loads(wanted) if problem.loads else set()
    if under_load:
        for link, term in problem.loads.items():
            own = _term_blocks(problem, [term])
            needs = sorted(problem.quantities.changed_by_loads({term.quantity} | _inputs(own.values())))
            if needs:
                raise GraphCycleError(
                    f"the load on '{link}', {term_of(term.quantity)}, depends on {', '.join(needs)}, "
                    "which it changes: let it depend on motion, parameters or the base wrench"
                )
        blocks |= _renamed_terms(problem, {f"{LOAD}{link}": term for link, term in problem.loads.items()})
        blocks["under load"] = block_of(problem, sorted(under_load), problem.loads)
    if "time" in wanted | _inputs(blocks.values()):
        blocks["time"] = _time_block(problem)
    known = under_load.union(leaves, *(block.outputs for block in blocks.values()))
    others = dynamics_blocks(problem, (wanted | _inputs(blocks.values())) - known, known)
    blocks |= others
    if problem.designs and (under_load or others):
        blocks |= _renamed_terms(problem, {f"{DESIGN}{name}": d.term for name, d in problem.designs.items()})
    for term in integrated:
        target, width = integrand(term.quantity), problem.width_of_term(term)
        blocks.setdefault(target, Power(term.quantity, width, target, times_duration=True))
    return Graph(leaves, blocks.values())


def dynamics_blocks(problem: Problem, wanted: Iterable[str], known: Iterable[str]) -> dict[str, Block]:
    """The blocks of the dynamics that compute the wanted quantities, and those that these need in turn.

    known : quantities that are computed otherwise
    """
    table, blocks = problem.quantities, {}
    known = set(known)
    if problem.designs:
        known.update(f"{DESIGN}{name}" for name in problem.designs)
    wanted = set(wanted) - known
    while wanted:
        for together in table.by_block(wanted):
            blocks[together[0]] = block_of(problem, together)
        known |= wanted
        met = _inputs(blocks.values()) - known  # names that nobody declares are reported by the graph
        wanted = {name for name in met if table.knows(name.partition(":")[0])}
    return blocks


def block_of(problem: Problem, outputs: Iterable[str], loads: Iterable[str] = ()) -> Block:
    """The block that the dynamics makes for these outputs, under loads on these links.

    Raises ProblemError where it does not compute one of them, ShapeError where one has another width.
    """
    dynamics: Any = problem.dynamics
    wanted, called = tuple(outputs), f"the dynamics {type(dynamics).__name__}"
    if problem.designs:
        fixed = {name: design.fixed for name, design in problem.designs.items()}
        block = dynamics.designed_block(wanted, tuple(loads), fixed)
    else:
        block = dynamics.block(wanted, tuple(loads)) if loads else dynamics.block(wanted)
    offered: Mapping[str, int] = getattr(block, "outputs", {})
    for name in wanted:
        if name not in offered:
            raise ProblemError(
                f"{called} does not compute '{name}': its block({list(wanted)}) gives "
                f"{', '.join(offered) or 'nothing'}; leave the term out, or let it give that quantity"
            )
        width = problem.width_of(name)
        if offered[name] != width:
            raise ShapeError(f"'{name}' of {called} has {offered[name]} components: expected {width}")
    return completed(block)


def _term_blocks(problem: Problem, terms: Iterable[Any]) -> dict[str, Block]:
    """The terms' own blocks, each once, by their first output."""
    blocks: dict[str, Block] = {}
    for term in terms:
        for block in problem.blocks_of(term):
            blocks.setdefault(next(iter(block.outputs)), block)
    return blocks


def _time_block(problem: Problem) -> Block:
    """time = t + the motion's start, a number or a parameter."""
    one, start = np.ones(1), parameter_leaf(START_TIME)
    terms = {"t": one} | ({start: one} if problem.start_time is None else {})
    return WeightedSum(terms, "time", 0.0 if problem.start_time is None else problem.start_time)


def _renamed_terms(problem: Problem, terms: Mapping[str, Any]) -> dict[str, Block]:
    """The blocks of terms by their names as inputs of the dynamics."""
    blocks = _term_blocks(problem, terms.values())
    widths = {target: problem.width_of_term(term) for target, term in terms.items()}
    return blocks | {target: Power(term.quantity, widths[target], target) for target, term in terms.items()}


def _inputs(blocks: Iterable[Block]) -> set[str]:
    return {name for block in blocks for name in block.inputs}


def refuse_idle_unknowns(problem: Problem, graph: Graph, used: Iterable[str]) -> None:
    """ProblemError where a control or a design enters nothing that is minimized or bounded.

    used : the quantities that are minimized or bounded
    """
    controls = [name for name, extra in problem.extras.items() if extra.pieces and not extra.is_state]
    known = {leaf for quantity in used for leaf in graph.leaf_pattern(quantity)} if controls else set()
    for name in controls:
        if extra_leaf(name) not in known:
            raise ProblemError(
                f"the control '{name}' enters no equation, cost or constraint, so nothing decides it: "
                "use it in one, or leave it out"
            )
    for name in problem.designs:
        if f"{DESIGN}{name}" in graph.width and f"{DESIGN}{name}" not in graph.inputs:
            raise ProblemError(
                f"'{name}' is designed, but nothing that is minimized or bounded depends on it: springs and "
                "dampers change trajopt.Quantity('motor_torque') alone, so use that, or leave the design out"
            )


def limit_order(problem: Problem, limit: Constraint) -> int | None:
    """2 for a limit that depends on accelerations, 1 for v, 0 for q; None for one that no arc can hold.

    Held on an arc, a limit of order 2 is an equation for the torque there; v and q are held by a = 0.
    """
    quantity = limit.term.quantity
    if quantity in ("q", "v"):
        return ("q", "v").index(quantity)
    if quantity in ("a", *TORQUES):
        return 2
    return 2 if _depends(problem, limit.term, "a") and not depends_on_jerk(problem, limit.term) else None


def depends_on_jerk(problem: Problem, term: Term) -> bool:
    """True if a term, of a constraint, a cost or an integral, changes with the third derivative of q."""
    return _depends(problem, term, "jerk")


def may_jump(problem: Problem, term: Term) -> bool:
    """True if a term may jump at breakpoints, as it changes with more than states, time and parameters.

    Data in steps jump as well.
    """
    steady = {"q", *TIME_LEAVES, *map(parameter_leaf, problem.parameters)}
    steady |= {extra_leaf(name) for name, extra in problem.extras.items() if extra.is_state or extra.has_rate}
    if not isinstance(problem.dynamics, System):
        steady.add("v")
    graph = graph_of(problem, [term])
    if any(
        f"data:{name}" in graph.width
        for name, own in problem.datasets.items()
        if own.interpolation == "steps"
    ):
        return True
    pattern = graph.leaf_pattern(term.quantity)
    return any(np.any(part) for leaf, part in pattern.items() if leaf not in steady)


def _depends(problem: Problem, term: Term, leaf: str) -> bool:
    return bool(np.any(graph_of(problem, [term]).leaf_pattern(term.quantity).get(leaf, False)))
