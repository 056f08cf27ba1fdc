"""The graph orders its blocks, or says why it cannot."""

import numpy as np
import pytest

from trajopt.base.errors import GraphCycleError, UnknownNameError
from trajopt.graph.elementary import Power
from trajopt.graph.expression import ExpressionBlock, symbol
from trajopt.graph.graph import Graph


def test_blocks_run_in_the_order_of_use_whatever_order_they_come_in():
    graph = Graph(
        {"q": 2, "arc_duration": 1}, [Power("s", 2, "y", times_duration=True), Power("q", 2, "s", exponent=2)]
    )
    z = {"q": np.array([[1.0, 2.0]]), "arc_duration": np.array([[3.0]])}
    assert graph.values(z)["y"].tolist() == [[3.0, 12.0]]
    assert graph.has_curvature


def test_a_block_without_curvature_takes_the_hessian_from_the_graph():
    class Opaque(Power):
        curvature = None

    assert not Graph({"q": 1}, [Opaque("q", 1, "s")]).has_curvature


def test_a_cycle_names_the_quantities_that_wait_for_each_other():
    with pytest.raises(GraphCycleError, match="f, g depend on themselves"):
        Graph({"q": 1}, [Power("f", 1, "g"), Power("g", 1, "f")])


def test_a_quantity_that_nothing_computes_is_named():
    with pytest.raises(UnknownNameError, match="nothing computes torqe"):
        Graph({"q": 1}, [Power("torqe", 1, "g")])


def test_nonzeros_of_traced_terms_stand_pair_after_pair_and_row_by_row():
    u, w = symbol("u", 2), symbol("w", 2)
    block = ExpressionBlock({"w": w, "u": u}, {"y": w[0] * u[1] ** 2, "x": u * w[0]})
    at = {"u": np.array([[2.0, 3.0], [5.0, 7.0]]), "w": np.array([[11.0, 0.0], [13.0, 0.0]])}
    assert list(block.pattern()) == [("y", "w"), ("y", "u"), ("x", "w"), ("x", "u")]
    values, slopes = block.value_and_nonzeros(at)
    assert values["x"].tolist() == [[22.0, 33.0], [65.0, 91.0]]
    # dy/dw0, dy/du1, dx0/dw0, dx1/dw0, dx0/du0, dx1/du1
    assert slopes.tolist() == [[9.0, 66.0, 2.0, 3.0, 11.0, 11.0], [49.0, 182.0, 5.0, 7.0, 13.0, 13.0]]
    assert block.partials(at)["x", "u"].tolist() == [[[11.0, 0.0], [0.0, 11.0]], [[13.0, 0.0], [0.0, 13.0]]]
    adjoints = {"y": np.ones((2, 1)), "x": np.array([[1.0, 2.0], [3.0, 4.0]])}
    assert list(block.curvature_pattern()) == [("w", "u"), ("u", "u")]
    # by w0 and u0, w0 and u1, u1 and u1
    assert block.curvature_nonzeros(at, adjoints).tolist() == [[1.0, 8.0, 22.0], [3.0, 18.0, 26.0]]
    assert block.curvature(at, adjoints)["w", "u"].tolist() == [
        [[1.0, 8.0], [0.0, 0.0]],
        [[3.0, 18.0], [0.0, 0.0]],
    ]


def test_a_traced_term_without_second_derivatives_has_no_nonzeros():
    u = symbol("u", 2)
    block = ExpressionBlock({"u": u}, {"y": 2.0 * u})
    assert block.curvature_pattern() == {}
    found = block.curvature_nonzeros({"u": np.zeros((3, 2))}, {"y": np.ones((3, 2))})
    assert found.shape == (3, 0)


@pytest.mark.parametrize("missing", ["curvature", "curvature_nonzeros"])
def test_a_block_gives_nonzeros_only_where_it_gives_all_of_them(missing):
    """A block that hides second derivatives has pairs of first ones, as programs lay them out."""
    u = symbol("u", 2)
    block = type("Hidden", (ExpressionBlock,), {missing: None})({"u": u}, {"y": u[0] * u})
    graph, at = Graph({"u": 2}, [block]), {"u": np.array([[2.0, 3.0]])}
    for partials in (graph.nonzeros(at), graph.values_and_nonzeros(at)[1]):
        assert partials[0]["y", "u"].tolist() == [[[4.0, 0.0], [3.0, 2.0]]]
