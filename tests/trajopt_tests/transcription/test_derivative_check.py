"""Blocks that users write: what is wrong with them is said before the first solve, with the entry's name."""

import re
import warnings

import numpy as np
import pytest
from hand_written import CubicSpringBlock, PointMasses, two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.graph.graph import Graph, NamedBlock
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.solver import Status
from trajopt.transcription.derivative_check import check_problem, wrong_derivative


class Work:
    """tau . v of two joints, with every part a test may spoil."""

    inputs = {"tau": 2, "v": 2}  # noqa: RUF012
    outputs = {"work": 1}  # noqa: RUF012

    def value(self, u):
        return {"work": (u["tau"] * u["v"]).sum(axis=1, keepdims=True)}

    def partials(self, u):
        return {("work", "tau"): u["v"][:, None, :].copy(), ("work", "v"): u["tau"][:, None, :].copy()}


class CurvedWork(Work):
    def curvature(self, u, adjoints):
        return {("tau", "v"): adjoints["work"][:, :, None] * np.eye(2)}


def spoiled(kind=Work, **parts):
    return type("Spoiled", (kind,), parts)()


def arm_with(block, **options):
    problem = two_link_minimum_time(5)
    problem.guess(lambda s: np.array([0.0, -2.0]) + np.multiply.outer(s, [1.0, 1.0]), duration=0.1)
    problem.subject_to(trajopt.block_term(block, **options), upper=40.0)
    return problem


def wrong_partials(self, u):
    found = Work.partials(self, u)
    found["work", "v"][:, 0, 1] *= 1.001
    return found


def real_parts_only(self, u):
    return {"work": np.sum(u["tau"].real * u["v"].real, axis=1, keepdims=True)}


def test_a_wrong_partial_is_named_with_what_came_and_what_was_expected():
    with pytest.raises(
        errors.DerivativeError,
        match=r"derivative of term 'work' by 'v', component elbow is .*, but complex step of its own values",
    ):
        trajopt.solve(arm_with(spoiled(partials=wrong_partials)))


@pytest.mark.long
def test_values_that_refuse_complex_numbers_are_checked_by_central_differences():
    trajopt.solve(arm_with(spoiled(value=real_parts_only)))
    with pytest.raises(errors.DerivativeError, match="but central differences of its own values give"):
        trajopt.solve(arm_with(spoiled(value=real_parts_only, partials=wrong_partials)))


@pytest.mark.parametrize("omega", [1.0, 1500.0, 1e5, 1e7])
def test_fast_terms_are_right_where_they_are_right(omega):
    """Differences over one step of 6e-6 see none of these sines but the first."""
    problem = two_link_minimum_time(5)
    problem.minimize(trajopt.ExpressionTerm(lambda node: np.sin(omega * node.q), "wave"), weight=1e-9)
    check_problem(problem)

    def value(self, u):
        return {"work": np.sin(omega * u["v"].real).sum(axis=1, keepdims=True)}

    def partials(factor):
        return lambda self, u: {("work", "v"): factor * omega * np.cos(omega * u["v"])[:, None, :]}

    check_problem(arm_with(spoiled(value=value, partials=partials(1.0))))
    if omega > 1e6:  # no step is fine enough to tell an error of a thousandth
        return
    with pytest.raises(errors.DerivativeError, match="but central differences of its own values give"):
        check_problem(arm_with(spoiled(value=value, partials=partials(1.001))))


def test_a_step_beside_the_point_is_no_wrong_derivative():
    import casadi

    problem = two_link_minimum_time(5)
    at = {}

    def noted(node):
        return casadi.if_else(node.q > at.get("edge", 0.123), 1.0, 0.0)

    for edge in np.linspace(-2.0, 2.0, 21):
        at["edge"] = edge
        problem.minimize(trajopt.ExpressionTerm(noted, f"step {edge:.1f}"))
    with pytest.warns(
        errors.KinkWarning, match=r"its value jumps from . to . at 'q', component .* = .*, in a "
    ):
        check_problem(problem)


def test_a_wrong_curvature_is_named():
    minus = -np.ones((1, 2, 2))
    block = spoiled(CurvedWork, curvature=lambda self, u, adjoints: {("tau", "v"): minus})
    with pytest.raises(
        errors.DerivativeError, match="second derivative of term 'work' by 'tau', component shoulder and 'v'"
    ):
        trajopt.solve(arm_with(block))


def test_a_pattern_that_misses_an_entry_is_named():
    pattern = {("work", "tau"): np.ones((1, 2), bool), ("work", "v"): np.array([[True, False]])}
    with pytest.raises(
        errors.DerivativeError,
        match="term 'work' depends on 'v', component elbow, which its pattern calls zero",
    ):
        trajopt.solve(arm_with(spoiled(pattern=lambda self: pattern)))
    with pytest.raises(errors.ShapeError, match=r"pattern of term 'work' by 'tau' has shape \(2, 2\)"):
        trajopt.solve(arm_with(spoiled(pattern=lambda self: {("work", "tau"): np.ones((2, 2), bool)})))


def test_outputs_and_derivatives_of_the_wrong_shape_are_named():
    with pytest.raises(
        errors.ShapeError, match=r"term 'work' gave shape \(2,\) at 16 nodes: expected \(16, 1\)"
    ):
        trajopt.solve(arm_with(spoiled(value=lambda self, u: {"work": np.zeros(2)})))
    with pytest.raises(errors.ShapeError, match=r"derivative of term 'work' by 'tau' has shape \(1, 2\)"):
        trajopt.solve(arm_with(spoiled(partials=lambda self, u: {("work", "tau"): u["v"]})))


def test_a_value_that_is_not_a_number_is_named_with_node_time_and_joint():
    class Logarithm:
        inputs = {"q": 2}  # noqa: RUF012
        outputs = {"logarithm": 2}  # noqa: RUF012

        def value(self, u):
            with np.errstate(all="ignore"):
                return {"logarithm": np.log(u["q"])}

        def partials(self, u):
            return {("logarithm", "q"): np.eye(2) / u["q"][:, None, :]}

    with pytest.raises(
        errors.EvaluationError,
        match=r"term 'logarithm', component shoulder is -inf at the first guess, at t = 0 s .node 0 of 16.",
    ):
        trajopt.solve(arm_with(Logarithm()))


def test_a_term_that_is_undefined_elsewhere_is_named_with_its_node():
    @trajopt.term
    def root(node):
        return (0.51 - node.q) ** 0.5

    problem = trajopt.Problem(PointMasses(2), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[0.5, 0.5], v=0.0)
    problem.minimize(root)
    nlp = trajopt.transcribe(problem)
    assert nlp.culprit(nlp.start) == ""
    y = nlp.start + 0.0
    y[1] += 10.0
    assert re.match(r"term 'root', component slider 1, is nan at t = 0.\d+ s .node \d+.", nlp.culprit(y))
    monitor = Monitor(nlp, None, None, feasibility=1e-6)
    with pytest.raises(Refusal):
        monitor.objective(y)
    result = monitor.result(Status.EVALUATION_ERROR, None, 0, "")
    assert "the objective is not finite (term 'root', component slider 1, is nan" in result.detail


@pytest.mark.long
def test_rates_without_a_slope_at_controls_of_zero_are_started_beside_them():
    """The norm of a thrust has no derivative at zero, where controls without a guess would start."""
    states, controls = ("speed", "mass"), ("along", "across")

    def rates(node):
        return [node.along / node.mass, -((node.along**2 + node.across**2) ** 0.5)]

    def burn():
        mesh = trajopt.Trajectory.collocation(5, 3, duration=0.5)
        problem = trajopt.Problem(trajopt.system(states, controls, rates), mesh)
        problem.start_at(x=[0.0, 2.0])
        problem.end_at(x=[0.5, None])
        problem.minimize(-trajopt.state("mass"), over="end")
        return problem

    problem = burn()
    nlp = trajopt.transcribe(problem)
    assert np.all(np.isfinite(nlp.jacobian(nlp.start)))
    problem.control("along", guess=1.0)
    solution = trajopt.solve(problem, starts=1)
    # m dv = -dm along a straight burn: the mass that is left is m0 exp(-v), here on five intervals.
    assert -solution.objective == pytest.approx(2.0 * np.exp(-0.5), rel=1e-5)


def test_a_gradient_that_is_infinite_at_the_start_is_named():
    @trajopt.term
    def length(node):
        return (node.v.T @ node.v) ** 0.5

    problem = trajopt.Problem(PointMasses(2), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.minimize(length)
    reason = r"derivative of term 'length' by 'v', component slider 0, is nan at t = 0 s"
    with (
        pytest.warns(errors.KinkWarning, match="'length': a root turns near 'v', component slider 0 = 0"),
        pytest.raises(errors.EvaluationError, match=reason),
    ):
        trajopt.solve(problem)


def masses_with(term):
    problem = trajopt.Problem(PointMasses(2, 2.0), trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, 0.5], v=0.0)
    problem.minimize(trajopt.tau**2)
    problem.minimize(term**2, weight=0.1)
    return problem


def test_a_block_without_curvature_solves_with_lbfgs_to_the_same_optimum(caplog):
    first = trajopt.solve(masses_with(trajopt.block_term(Work())))
    assert "no second derivatives: IPOPT uses L-BFGS instead" in caplog.text
    second = trajopt.solve(masses_with(trajopt.block_term(CurvedWork())))
    assert first.converged and second.converged
    assert first.objective == pytest.approx(second.objective, rel=1e-7)


def test_a_block_with_patterns_and_curvature_keeps_the_exact_hessian():
    problem = masses_with(trajopt.block_term(CubicSpringBlock(), name="spring"))
    assert trajopt.transcribe(problem).has_hessian and trajopt.solve(problem).converged


def test_incomplete_blocks_are_refused():
    with pytest.raises(errors.OptionError, match="object has no `inputs`"):
        trajopt.block_term(object())
    two = spoiled(outputs={"a": 1, "b": 1})
    with pytest.raises(errors.OptionError, match="has the outputs a, b: choose one"):
        trajopt.block_term(two)
    with pytest.raises(errors.OptionError, match=r"no output of .* is called 'c': there are a, b"):
        trajopt.block_term(two, "c")
    with pytest.raises(errors.ShapeError, match="takes 'v' with 3 components, the problem has 2"):
        arm_with(spoiled(inputs={"v": 3}))


def test_a_value_that_leaves_out_its_output_is_named():
    block = trajopt.block_term(Work())
    block.block.value = lambda u: {"works": np.zeros((len(u["v"]), 1))}
    problem = two_link_minimum_time(5)
    problem.subject_to(block, upper=40.0)
    with pytest.raises(
        errors.ShapeError, match="block of term 'work' gave works: its value must hold 'work'"
    ):
        trajopt.solve(problem)


class Drag:
    """v |v| of one joint, whose partials are wrong above a speed."""

    inputs = {"v": 1}  # noqa: RUF012
    outputs = {"drag": 1}  # noqa: RUF012

    def __init__(self, above, error=1.5, kind=float):
        self.above, self.error, self.kind = above, error, kind

    def value(self, u):
        return {"drag": (u["v"] * np.abs(u["v"])).astype(self.kind).astype(u["v"].dtype)}

    def partials(self, u):
        factor = np.where(np.abs(u["v"]) > self.above, self.error, 1.0)
        return {("drag", "v"): (2.0 * factor * np.abs(u["v"]))[:, :, None]}


@pytest.mark.long
@pytest.mark.parametrize(("above", "wrong"), [(1.4, True), (9.0, False)])
def test_partials_that_are_wrong_where_the_motion_is_fast_are_named_by_verify(above, wrong):
    """One metre in a second is at 1.5 m/s in the middle; the guess is at 1 m/s."""
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(6, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.block_term(Drag(above)), upper=3.0)
    solution = trajopt.solve(problem, starts=1)
    assert solution.converged
    reason = solution.verify().reason
    assert bool(reason) == wrong, reason
    assert not wrong or re.search(
        r"need not be optimal: the derivative of term 'drag', .* by 'v', .* at t = ", reason
    )


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda v: np.maximum(v, 0.0), lambda v: (v > 0.0).astype(float)),
        (lambda v: np.sin(1500.0 * v), lambda v: 1500.0 * np.cos(1500.0 * v)),
        (np.abs, np.sign),
    ],
)
def test_kinks_and_steep_values_at_nodes_are_no_wrong_partials(function, slope):
    class Bent(Drag):
        def value(self, u):
            return {"drag": function(u["v"])}

        def partials(self, u):
            return {("drag", "v"): slope(u["v"])[:, :, None]}

    v = np.array([[0.0], [1e-12], [-1e-9], [1e-6], [0.3], [-2.0], [1e3]])
    assert not wrong_at(Bent(9.0), v)


def wrong_at(block, v):
    graph, values = (
        Graph({"v": 1, "t": 1}, [NamedBlock(block)]),
        {"v": v, "t": np.arange(float(len(v)))[:, None]},
    )
    return wrong_derivative(graph, values, lambda quantity, width: [str(i) for i in range(width)]).stated


@pytest.mark.parametrize("error", [0.0, 0.99, 1.01, -1.0])
def test_partials_are_looked_at_at_every_node(error):
    v = np.linspace(-1.0, 1.0, 40)[:, None]
    v[17] = 1.5
    assert not wrong_at(Drag(2.0, error), v)
    assert not wrong_at(Drag(2.0, error, np.float32), v)
    assert re.search(r"derivative of 'drag', .* by 'v', .* at t = 17 s", wrong_at(Drag(1.4, error), v))


def noise(v):
    """Numbers from -1 to 1 without an order, the same for the same v."""
    return np.sin(1e9 * np.modf(v * 7.3e5)[0])


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (np.sign, np.zeros_like),  # jumps where the motion rests
        (
            np.cbrt,
            lambda v: np.where(v == 0.0, 0.0, np.abs(np.where(v == 0.0, 1.0, v)) ** (-2.0 / 3.0) / 3.0),
        ),
        (lambda v: np.tanh(1e9 * v), lambda v: 1e9 * (1.0 - np.tanh(1e9 * v) ** 2)),
        (lambda v: (1e6 * v) ** 3, lambda v: 3e18 * v**2),
        (lambda v: np.sin(v) + 1e-6 * noise(v), np.cos),
        (lambda v: (100.0 + np.sin(v)).astype(np.float32).astype(float), np.cos),
        (lambda v: np.floor(1e4 * v) / 1e4, np.ones_like),
        (
            lambda v: 1e9 * np.maximum(v - 0.5, 0.0) ** 1.5,
            lambda v: 1.5e9 * np.sqrt(np.maximum(v - 0.5, 0.0)),
        ),
        (lambda v: np.sqrt(np.maximum(v, 0.0)), lambda v: 0.5 / np.sqrt(v)),
    ],
)
def test_jumps_noise_and_steep_parts_are_no_wrong_partials(function, slope):
    class Right(Drag):
        def value(self, u):
            return {"drag": function(u["v"])}

        def partials(self, u):
            with np.errstate(divide="ignore"):
                return {("drag", "v"): slope(u["v"])[:, :, None]}

    class Wrong(Right):
        def partials(self, u):
            return {("drag", "v"): 1.0 + 2.0 * super().partials(u)["drag", "v"]}

    t = np.linspace(0.0, 1.0, 101)[:, None]
    v = 30.0 * t**2 * (1.0 - t) ** 2  # from rest to rest
    assert not wrong_at(Right(9.0), v)
    assert wrong_at(Wrong(9.0), v)


def test_slopes_that_noise_hides_are_left_alone():
    class Noisy(Drag):
        def value(self, u):
            return {"drag": np.sin(u["v"]) + 1e-4 * noise(u["v"])}

        def partials(self, u):
            return {("drag", "v"): np.cos(u["v"])[:, :, None]}

    assert not wrong_at(Noisy(9.0), np.linspace(-3.0, 3.0, 101)[:, None])


def test_right_partials_cost_two_values_more_at_every_node():
    class Counted(Drag):
        nodes = 0

        def value(self, u):
            self.nodes += len(u["v"])
            return super().value(u)

    block = Counted(9.0)
    assert not wrong_at(block, np.linspace(0.5, 2.0, 100)[:, None])
    assert block.nodes == 300


def drag_limited(function):
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(6, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.adapters.foreign_term(function, "numpy", inputs="v", name="drag"), upper=3.0)
    return problem


def table(spacing):
    speeds = spacing * np.arange(-2.0 / spacing, 2.0 / spacing + 1.0)
    return lambda v: np.interp(v, speeds, speeds * np.abs(speeds))


@pytest.mark.long
def test_differences_of_a_table_are_a_note_and_no_wrong_partials():
    """A table of NumPy without derivatives: differences reach across its kinks, 0.1 m/s apart."""
    problem = drag_limited(table(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.KinkWarning)
        solution = trajopt.solve(problem, starts=1)
    assert solution.converged
    report = solution.verify()
    assert report.holds, report.reason
    assert "differences of term 'drag' reach across a kink" in report.table.replace("\n", " ")


def test_differences_across_kinks_are_a_warning_before_a_solve():
    """Kinks 0.03 m/s apart are beside every guess; second differences of log(v + 0.05) are 1e-4 off."""
    with pytest.warns(errors.KinkWarning, match="term 'drag' reach across a kink or a steep part beside the"):
        check_problem(drag_limited(table(0.03)))

    def rates(x, u):
        return [x[1], u[0] - 0.1 * np.log(x[1] + 0.05)]

    system = trajopt.system(
        ("x", "v"), ("push",), trajopt.adapters.foreign_block(rates, {"x": 2, "u": 1}, "numpy")
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(10, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_problem(problem)
