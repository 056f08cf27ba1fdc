"""The graph that computes a set of terms for a problem, at any nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trajopt.block import Block, TimesDuration
from trajopt.graph import Graph
from trajopt.layout import CLOCK_LEAVES, SPLINE_LEAVES, parameter_leaf
from trajopt.problem import Problem
from trajopt.terms import INVERSE_DYNAMICS


def leaf_widths(problem: Problem) -> dict[str, int]:
    """Every leaf of a problem's graph and its width."""
    widths = {leaf: problem.dynamics.n for leaf in SPLINE_LEAVES} | {leaf: 1 for leaf in CLOCK_LEAVES}
    return widths | {parameter_leaf(name): p.lower.size for name, p in problem.parameters.items()}


def graph_of(problem: Problem, terms: Iterable[Any], integrated: Iterable[Any] = ()) -> Graph:
    """Blocks for all terms, for what they need of the dynamics, and for the integrands T * term."""
    terms, integrated, leaves = list(terms), list(integrated), leaf_widths(problem)
    blocks: dict[str, Block] = {}
    for term in (*terms, *integrated):
        for block in problem.blocks_of(term):
            blocks.setdefault(next(iter(block.outputs)), block)
    wanted = {term.quantity for term in (*terms, *integrated)}
    wanted.update(name for block in blocks.values() for name in block.inputs)
    for family in _dynamics_families(wanted - set(blocks) - set(leaves)):
        block = problem.dynamics.block(family)
        blocks[next(iter(block.outputs))] = block
    widths = leaves | {name: width for block in blocks.values() for name, width in block.outputs.items()}
    for term in integrated:
        integrand = integrand_of(term)
        blocks.setdefault(integrand, TimesDuration(term.quantity, widths[term.quantity], integrand))
    return Graph(leaves, blocks.values())


def integrand_of(term: Any) -> str:
    """The key of T * term, whose quadrature over normalised time is the integral of the term."""
    return f"{term.quantity} dt"


def _dynamics_families(quantities: set[str]) -> list[tuple[str, ...]]:
    """Inverse dynamics and kinematics apart, each in a fixed order."""
    inverse = tuple(sorted(q for q in quantities if q.partition(":")[0] in INVERSE_DYNAMICS))
    kinematics = tuple(sorted(quantities - set(inverse)))
    return [family for family in (inverse, kinematics) if family]
