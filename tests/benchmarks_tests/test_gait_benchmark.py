"""The walk beside automatic differentiation: both programs are the same, derivatives included."""

import numpy as np
import pytest

import dynamics
from benchmarks.gait import page
from benchmarks.gait.casadi_peer import Program, disagreement
from benchmarks.gait.figures import points_figure, sweep_figure
from benchmarks.gait.runs import coarse_split, seconds_by_part
from benchmarks.gait.symbolic_body import SymbolicBody
from problems import planar_walker
from problems.human.body.model import skeleton

RESULT = {
    "objective": 0.11, "effort": 0.1, "per_metre": 0.2,
    "iterations": 50, "status": "converged", "converged": True,
    "variables": 152, "rows": 900, "cpu_seconds": 2.0, "violation": 1e-3, "slip": 5e-3,
}  # fmt: skip


@pytest.mark.long
def test_automatic_differentiation_of_another_recursion_gives_our_rows_and_derivatives():
    """Objective, rows, gradient, Jacobian and Hessian of the walker, entry by entry."""
    apart = disagreement(Program(planar_walker.build(intervals=3)))
    assert set(apart) == {"objective", "rows", "gradient", "jacobian", "hessian"}
    assert max(apart.values()) < 1e-9, apart


@pytest.mark.long
def test_the_symbolic_body_is_the_skeleton():
    import casadi

    model = skeleton()
    rng = np.random.default_rng(5)
    q, v, a = rng.uniform(-0.5, 0.5, (3, model.n))
    load = rng.standard_normal(6)
    symbols = [casadi.SX.sym(name, model.n) for name in "qva"]
    body = SymbolicBody(model, symbols[0])
    tau, base = body.inverse_dynamics(symbols[1], symbols[2], {"hindfoot_r": casadi.SX(load)})
    function = casadi.Function("f", symbols, [tau, base, body.position("toe_l")])
    external = np.zeros((model.link_count, 6))
    external[model.link_index("hindfoot_r")] = load
    expected = (
        dynamics.rnea(model, q, v, a, external),
        dynamics.base_wrench(model, q, v, a, external),
        dynamics.forward_kinematics(model, q, ["toe_l"]).position[0],
    )
    for found, wanted in zip(function(q, v, a), expected, strict=True):
        assert np.allclose(found.full().ravel(), wanted, rtol=0, atol=1e-10)


def test_seconds_are_read_from_the_solvers_own_log():
    class Walk:
        seconds = 10.0
        timings = {"objective": 0.5, "rows": 0.5, "gradient": 0.5, "jacobian": 0.5, "hessian": 1.0}  # noqa: RUF012

    log = (
        "PDSystemSolverTotal.................:      3.731 (sys:      0.016 wall:      3.000)\n"
        "PDSystemSolverTotal.................:      1.731 (sys:      0.016 wall:      2.000)\n"
        "Function Evaluations................:      3.201 (sys:      0.048 wall:      4.000)\n"
    )
    parts = seconds_by_part(Walk(), log)  # pyright: ignore
    assert parts == {
        "functions": 1.0, "derivatives": 2.0, "marshalling": 1.0, "linear algebra": 5.0, "rest": 1.0,
    }  # fmt: skip
    assert sum(coarse_split(Walk()).values()) == 3.0  # pyright: ignore


@pytest.mark.long
def test_the_page_holds_what_was_measured(tmp_path):
    (tmp_path / "figures").mkdir()
    sweep = [RESULT | {"speed": s, "step_length": 0.6, "converged": s < 1.5} for s in (1.0, 1.6)]
    points = [RESULT | {"intervals": 3}, RESULT | {"nodes_per_span": 9}]
    numbers = {
        name: {"machine": "a machine", "load": 1.0, "found": found}
        for name, found in (("sweep", sweep), ("points", points), ("sweep, thesis", sweep))
    }
    page.write(numbers, tmp_path / "page.md")
    default, thesis = (tmp_path / "page.md").read_text().split("# The thesis's cost")
    assert "| 1.6 m/s | (0.2000) |" in default and "Cost per metre; 1 of 2" in default
    assert "6 control points" in default and "9 nodes per span" in default and "| 0.110000 |" in default
    assert "| 1.6 m/s | (0.2000) |" in thesis and "Effort per metre; 1 of 2" in thesis
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "gait_sweep.png", "gait_points.png", "gait_sweep_thesis.png",
    }  # fmt: skip


def test_walks_that_did_not_converge_are_marked():
    rows = [
        RESULT | {"intervals": 3},
        RESULT | {"intervals": 5, "converged": False},
        RESULT | {"nodes_per_span": 9},
    ]
    faces = {
        line.get_markerfacecolor()
        for line in points_figure(rows, "thesis").axes[0].lines
        if line.get_marker() == "o"
    }
    assert "white" in faces
    sweep = [
        RESULT | {"speed": 1.0, "step_length": length, "converged": length < 0.7}
        for length in (0.5, 0.6, 0.7)
    ]
    assert len(sweep_figure(sweep, "sourced").axes[0].lines[0].get_xdata()) == 2  # pyright: ignore


def test_starts_that_failed_keep_their_reason():
    good = {"seed": 0, "status": "converged", "converged": True, "error": ""}
    good |= {"objective": 0.1, "iterations": 9, "seconds": 1.0}
    perturbed = [good, good | {"seed": 1, "converged": False, "iterations": 0, "error": "NaN"}]
    text = page.starts({"perturbed": perturbed, "optima": [0.1], "standing": RESULT}, "thesis")
    assert "1 of 2 converged" in text and "| 1 | NaN | 0 |" in text and "| standing | converged |" in text


@pytest.mark.parametrize("name", ["run", "casadi"])
def test_tables_have_ours_beside_theirs(name):
    run = RESULT | {
        "active": 91, "kept": "327 of 1802 rows in 3 rounds", "kkt_error": 1e-6,
        "violation_nodes": 1e-9, "violation_dense": 0.1,
        "split": {"functions": 1.0, "linear algebra": 3.0},
    }  # fmt: skip
    solve = {
        "status": "converged",
        "iterations": 9,
        "objective": 0.1,
        "seconds": 1.0,
        "functions": 0.1,
        "derivatives": 0.2,
    }
    casadi = {
        "agreement": {"rows": 1e-12}, "building": 6.0, "ours": solve, "casadi": solve,
        "per_call": {"ours": {"Hessian": 0.01}, "CasADi": {"Hessian": 1.0}},
    }  # fmt: skip
    text = {"run": page.run(run, "thesis"), "casadi": page.casadi(casadi)}[name]
    assert {"run": "| CPU seconds | 2 | 34.1 |", "casadi": "| Hessian | 10 ms | 1 s | 100 |"}[name] in text
    if name == "run":
        assert "| CPU seconds | 2 |\n" in page.run(run, "sourced")
