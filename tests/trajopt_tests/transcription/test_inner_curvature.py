"""Second derivatives pair by pair are those of one product over all leaves."""

import numpy as np
import pytest
from tiers import fast_first

import trajopt
from problems import catalogue
from trajopt.transcription.hessian import InnerCurvature, InnerProducts


def derivatives(nlp):
    """Values, D and seeded adjoints of all quantities at a point near the start."""
    chain, functions = nlp.chain, nlp
    point = functions.at(nlp.start + 0.01 * np.sin(np.arange(nlp.variable_count)))
    rng = np.random.default_rng(5)
    used = rng.standard_normal((functions.leaf_map.nodes, chain.used_count))
    return point.values, point.jacobian, chain.adjoints(point.partials, used)


def zeros(nlp):
    """Room for every pair of leaves that has second derivatives."""
    chain, nodes = nlp.chain, nlp.leaf_map.nodes
    pattern = chain.graph.hessian_pattern(chain.used)
    return {pair: np.zeros((nodes, *part.shape)) for pair, part in pattern.items()}


@fast_first("name", ["urdf_arm", "two_link_pr", "planar_walker", "hop", "gait"], 4)
def test_pair_by_pair_is_the_product_over_all_leaves(name):
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    chain, pairs, expected = nlp.chain, zeros(nlp), zeros(nlp)
    at = derivatives(nlp)
    u, D, adjoints = at
    products = InnerProducts(InnerCurvature(chain.graph, chain.rows, chain.columns), D)
    for curvature in chain.curvatures(u, adjoints, pairs):
        products.add(curvature)
    products.add_to(pairs)
    total = chain.hessian(*at, expected)
    for (first, second), part in expected.items():
        whole = part if total is None else part + total[:, chain.columns[first], chain.columns[second]]
        largest = np.abs(whole).max()
        assert np.allclose(pairs[first, second], whole, rtol=0, atol=1e-12 * max(largest, 1.0))


@pytest.mark.long
def test_quantities_of_one_run_stand_side_by_side_and_depend_on_the_same_leaves():
    chain = trajopt.transcribe(catalogue.build("gait", {"cost": "thesis"})).chain
    structure = InnerCurvature(chain.graph, chain.rows, chain.columns)
    for index, run in enumerate(structure.runs):
        names = [name for name, place in structure.run_of.items() if place == index]
        assert run.rows.stop - run.rows.start == sum(chain.graph.width[name] for name in names)
        assert all(chain.graph.leaf_pattern(name).keys() == run.leaves for name in names)
    places = structure.runs[structure.run_of["position:hand_r"]]
    assert places.leaves == {"q"} == places.reach  # places are functions of positions alone


@pytest.mark.long
def test_second_derivatives_of_sums_of_squares_are_multiplied_as_diagonals():
    chain = trajopt.transcribe(catalogue.build("gait", {"cost": "thesis"})).chain
    structure = InnerCurvature(chain.graph, chain.rows, chain.columns)
    assert ("tau", "tau") in structure.diagonal
    assert ("base_wrench", "base_wrench") not in structure.diagonal
