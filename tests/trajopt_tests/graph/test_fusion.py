"""Joined terms are the same functions: values and derivatives agree with those of the separate blocks."""

import numpy as np
from hand_written import PointMasses
from tiers import fast_first

import trajopt
from problems import catalogue
from trajopt.graph.elementary import Power
from trajopt.graph.graph import ChainRule, fused


def is_square_times_duration(block):
    return isinstance(block, Power) and block.exponent == 2 and block.times_duration


def derivatives(graph, nlp, z, by_name):
    """Values and Jacobians by name, and the full Hessian by leaves, with adjoints given by name."""
    chain = ChainRule(graph, [], nlp.chain.used, nlp.leaf_map.leaves)
    u = graph.values(z)
    partials = graph.partials(u)
    adjoint = np.concatenate([by_name[name] for name in chain.used], axis=1)
    D = chain.jacobian(partials, len(adjoint), np.dtype(float))
    total = chain.hessian(u, D, chain.adjoints(partials, adjoint))
    return {name: (u[name], D[:, chain.rows[name]]) for name in chain.used}, total


@fast_first("name", ["planar_walker", "cart_pole", "two_link_pr", "kirk"], 2)
def test_fewer_blocks_compute_the_same_values_and_derivatives(name):
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    assert len(nlp.chain.graph.blocks) < len(nlp.graph.blocks)
    z = nlp.at(nlp.start + 0.01 * np.sin(np.arange(nlp.variable_count))).leaves.values
    rng = np.random.default_rng(8)
    nodes, used = nlp.unknowns.nodes.count, nlp.chain.used
    adjoints = {q: rng.standard_normal((nodes, nlp.graph.width[q])) for q in used}
    separate, H = derivatives(nlp.graph, nlp, z, adjoints)
    joined, joined_H = derivatives(nlp.chain.graph, nlp, z, adjoints)
    assert np.allclose(H, joined_H, rtol=0, atol=1e-12 * np.abs(H).max())
    for quantity, parts in separate.items():
        for part, other in zip(parts, joined[quantity], strict=True):
            assert np.allclose(part, other, rtol=0, atol=1e-13 * max(np.abs(part).max(), 1.0))


def test_a_square_that_is_bounded_too_stays_a_quantity_of_its_own():
    problem = trajopt.Problem(PointMasses(2, 1.0, 5.0), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    nlp = trajopt.transcribe(problem)
    assert any(map(is_square_times_duration, nlp.chain.graph.blocks))
    problem.subject_to(trajopt.tau**2, upper=20.0)
    nlp = trajopt.transcribe(problem)
    assert not any(map(is_square_times_duration, nlp.chain.graph.blocks))
    assert fused(nlp.graph, ["(tau)^2 dt"]).width["(tau)^2 dt"] == 2


def test_a_block_that_meets_several_clusters_joins_all_of_them():
    """Two groups that know nothing of each other meet in a third one, and later blocks find them as one."""
    problem = trajopt.Problem(PointMasses(4, 1.0, 5.0), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    looks = {
        "q": lambda node: node.q[0] ** 2,
        "v": lambda node: node.v[1] ** 2,
        "a": lambda node: node.a[0] ** 2,
    }
    for name, look in looks.items():
        problem.subject_to(trajopt.ExpressionTerm(look, name), upper=9.0)
    for first, second in (("q", "v"), ("v", "a"), ("q", "a")):
        both = trajopt.ExpressionTerm(
            lambda node, first=first, second=second: getattr(node, first)[0] * getattr(node, second)[1],
            f"{first} and {second}",
        )
        problem.subject_to(both, upper=9.0)
    problem.minimize(trajopt.ExpressionTerm(lambda node: node.q[0] ** 2 + node.a[1] ** 2, "cost"))
    nlp = trajopt.transcribe(problem)
    assert sum(hasattr(block, "expressions") for block in nlp.chain.graph.blocks) == 1


def test_terms_whose_rows_are_all_constant_are_left_out():
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.start_at(q=0.1, v=0.0)
    for name, look in {"both": lambda node: node.q * node.v, "square": lambda node: node.q**2}.items():
        problem.subject_to(trajopt.ExpressionTerm(look, name), upper=9.0, over="start")
    problem.minimize(trajopt.tau**2)
    assert all(block.outputs for block in trajopt.transcribe(problem).chain.graph.blocks)
