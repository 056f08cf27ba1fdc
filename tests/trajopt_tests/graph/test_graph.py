"""The graph orders its blocks, or says why it cannot."""

import numpy as np
import pytest

from trajopt.base.errors import GraphCycleError, UnknownNameError
from trajopt.graph.elementary import Power
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
