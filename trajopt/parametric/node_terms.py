"""The quantities of one node as CasADi functions of its leaves, times powers of the duration.

With Q the numerators of the leaves (`LeafMap`), of which some follow from the unknowns,

    values   Q -> u         all quantities that are minimized or bounded
    slopes   Q -> du/dQ     nonzeros, one quantity after the other
    seconds  Q, w -> d^2 (w . u_k)/dQ^2     of one quantity u_k, nonzeros of the lower triangle

so that durations and powers of them are differentiated with the terms. A quantity whose weights are zero at a
node, as of limits that are not active, need not be differentiated twice there.

Blocks of a robot give their recursions in any arithmetic, here that of CasADi's symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.graph.expression import Expression, MappedExpression, has_calls
from trajopt.graph.protocols import AnyArithmeticBlock, Block, SymbolicBlock
from trajopt.graph.quantities import slices_of, term_of
from trajopt.transcription.nlp import NLP

if TYPE_CHECKING:
    from casadi import Function


@dataclass(frozen=True, eq=False)
class SecondTerms:
    """Second derivatives of one quantity.

    weights : its places among the quantities of a node
    places : (2, entries) leaves of every nonzero, in the lower triangle
    """

    function: Function
    weights: slice
    places: Array


@dataclass(frozen=True, eq=False)
class NodeTerms:
    """The functions, and where their nonzeros stand.

    slope_places : (2, entries) quantity and leaf of every nonzero of du/dQ
    """

    values: Function
    slopes: Function
    slope_places: Array
    seconds: tuple[SecondTerms, ...]

    @property
    def functions(self) -> tuple[Function, ...]:
        return self.values, self.slopes, *(each.function for each in self.seconds)


def node_terms(nlp: NLP, name: str) -> NodeTerms:
    """The functions of a program's nodes, whose names begin with `name`.

    Raises OptionError for a term that is computed by Python functions or calls of CasADi, naming it.
    """
    import casadi

    leaf_map, chain = nlp.leaf_map, nlp.chain
    Q = casadi.SX.sym("Q", leaf_map.width)
    duration = Q[leaf_map.duration_column]
    known: dict[str, Expression] = {}
    for leaf, place in leaf_map.columns.items():
        order = int(leaf_map.order[place.start])
        known[leaf] = Q[place.start : place.stop] / duration**order if order else Q[place.start : place.stop]
    for block in chain.graph.blocks:
        known.update(expressions_of(block, known))
    u = casadi.densify(casadi.vertcat(*(known[quantity] for quantity in chain.used)))
    moving = np.flatnonzero(np.diff(leaf_map.B.indptr).reshape(leaf_map.nodes, -1).any(axis=0))
    by = Q[moving.tolist()]
    slopes = casadi.jacobian(u, by).T  # CasADi's nonzeros stand column by column
    leaf, quantity = _triplets(slopes)
    seconds = []
    for number, used in enumerate(chain.used):
        place = chain.rows[used]
        weights = casadi.SX.sym("w", place.stop - place.start)
        second = casadi.tril(casadi.hessian(casadi.dot(weights, u[place.start : place.stop]), by)[0])
        if second.nnz():
            function = casadi.Function(f"{name}_second_{number}", [Q, weights], [_nonzeros(second)])
            seconds.append(SecondTerms(function, place, moving[np.stack(_triplets(second))]))
    return NodeTerms(
        casadi.Function(f"{name}_values", [Q], [u]),
        casadi.Function(f"{name}_slopes", [Q], [_nonzeros(slopes)]),
        np.stack([quantity, moving[leaf]]),
        tuple(seconds),
    )


def mapped_terms(
    terms: NodeTerms, width: int, used: int
) -> tuple[MappedExpression, MappedExpression, MappedExpression]:
    """Functions of all nodes: Q -> u; Q -> (u, slopes); Q and adjoints of u -> all second derivatives.

    width, used : numbers of leaves, and of quantities, of a node
    """
    import casadi

    Q, w = casadi.SX.sym("Q", width), casadi.SX.sym("w", used)
    u = terms.values(Q)
    seconds = casadi.vertcat(*(each.function(Q, w[each.weights]) for each in terms.seconds))
    both = casadi.vertcat(u, casadi.densify(terms.slopes(Q)))
    return (
        MappedExpression([Q], casadi.densify(u)),
        MappedExpression([Q], both),
        MappedExpression([Q, w], casadi.densify(seconds)),
    )


def expressions_of(block: Block, u: Mapping[str, Expression]) -> Mapping[str, Expression]:
    """Outputs of a block as CasADi expressions of its inputs; OptionError, naming them, where it has none."""
    import casadi

    try:
        if implements(block, SymbolicBlock):
            found = block.expressions(u)
        elif implements(block, AnyArithmeticBlock):
            given = {key: [u[key][i] for i in range(width)] for key, width in block.inputs.items()}
            found = {key: casadi.vertcat(*each) for key, each in block.value_over(given, casadi.SX).items()}
        else:
            raise NotImplementedError
    except NotImplementedError:
        names = ", ".join(map(term_of, block.outputs))
        raise OptionError(
            f"{names} is computed by functions of Python ({type(block).__name__}), which are no C: trace "
            "it, as a function of a node with arithmetic and the functions of numpy or casadi"
        ) from None
    calling = [term_of(key) for key, expression in found.items() if has_calls(expression)]
    if calling:
        raise OptionError(f"{calling[0]} reads a table or calls a function of CasADi: to_c writes none")
    return found


def expression_function(
    name: str, widths: Mapping[str, int], of: Callable[[dict[str, Expression]], Expression]
) -> Function:
    """CasADi's function of quantities of these widths, one after the other, to what `of` makes of them."""
    import casadi

    u = casadi.SX.sym("u", sum(widths.values()))
    given = {key: u[place.start : place.stop] for key, place in slices_of(widths).items()}
    return casadi.Function(name, [u], [casadi.densify(of(given))])


def c_source(functions: tuple[Function, ...], name: str) -> str:
    """The C of functions, by CasADi's generator."""
    import casadi

    generator = casadi.CodeGenerator(name, {"with_header": False, "casadi_int": "long long int"})
    for function in functions:
        generator.add(function)
    return generator.dump()


def _nonzeros(matrix: Any) -> Expression:
    import casadi

    return casadi.vertcat(*matrix.nonzeros()) if matrix.nnz() else casadi.SX(0, 1)


def _triplets(matrix: Expression) -> tuple[Array, Array]:
    rows, columns = (np.array(places, dtype=np.int64) for places in matrix.sparsity().get_triplet())
    return rows, columns
