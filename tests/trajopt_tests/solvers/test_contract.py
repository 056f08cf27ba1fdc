"""The contract of `Solver`, held by every registered solver, alone and inside those that wrap another."""

from __future__ import annotations

import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
from small_nlps import (
    INF,
    equality_quadratic,
    failing,
    hs071,
    infeasible,
    quadratic_with_rows,
    rosenbrock,
    slow,
    unconstrained,
)
from tiers import every

from trajopt import Checkpointed, ConstraintGeneration
from trajopt.base.errors import (
    EvaluationError,
    InfeasibleBoundsError,
    NotFiniteError,
    OptionError,
    ShapeError,
)
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.run import (
    SOLVERS,
    SolvesStopped,
    TimedSolver,
    check_solver,
    create,
    run_solver,
    takes_hessian,
    with_options,
    without_checkpoints,
)
from trajopt.solvers.solver import Result, RowTolerances, Run, Solver, StartKind, Status, WarmStart

WRAPPERS = ("", "constraint generation, ", "checkpointed, ")
FUNCTIONS = ("objective", "gradient", "rows", "jacobian")
CASES = [f"{wrapper}{name}" for wrapper in WRAPPERS for name in SOLVERS]
FAST = [*SOLVERS, *(f"{wrapper}slsqp" for wrapper in WRAPPERS[1:])]  # wrappers do the same around any solver
INFEASIBLE_STATUSES = (
    Status.INFEASIBLE,
    Status.INCOMPATIBLE,
    Status.STEP_TOO_SMALL,
    Status.RESTORATION_FAILED,
)


@pytest.fixture(params=[pytest.param(case, marks=[pytest.mark.long] * (case not in FAST)) for case in CASES])
def solver_with(request, tmp_path):
    """A function of options: the solver of this case with these options."""
    wrapper, _, name = request.param.rpartition(", ")

    def made(**options) -> Solver:
        solver = create(name)
        if wrapper == "constraint generation":
            solver = ConstraintGeneration(solver)
        elif wrapper == "checkpointed":
            solver = Checkpointed(solver, tmp_path / "checkpoint", resume=False)
        return with_options(solver, options)

    return made


@every("problem", [hs071, rosenbrock, equality_quadratic])
def test_known_optima_satisfy_the_kkt_conditions(solver_with, problem):
    nlp = problem()
    result = solver_with().solve(nlp)
    assert result.status is Status.CONVERGED and result.converged
    np.testing.assert_allclose(result.y, nlp.solution, atol=2e-6)
    # SLSQP's tol bounds steps, not this error: 4e-5 where a second round starts beside the optimum.
    assert kkt_residuals(nlp, result).error < 1e-4
    if nlp.multipliers.size:
        np.testing.assert_allclose(result.row_multipliers, nlp.multipliers, rtol=1e-6)


def test_a_result_describes_its_own_point_and_cannot_be_changed(solver_with):
    nlp = hs071()
    result = solver_with().solve(nlp)
    assert result.objective == pytest.approx(nlp.objective(result.y), rel=1e-12)
    assert result.infeasibility < 1e-6
    assert result.row_multipliers.shape == (2,)
    assert result.lower_multipliers.shape == result.upper_multipliers.shape == (4,)
    assert result.history.shape[1] == 3 and result.history[-1, 0] <= result.iterations
    assert 0.0 < sum(result.timings.values()) <= result.seconds * (1.0 + 1e-9)
    with pytest.raises(ValueError, match="read-only"):
        result.y[0] = 0.0


@every(
    "row, bounds, multipliers",
    [
        ((-INF, 1.0), (-INF, INF), (2.0, 0.0, 0.0)),
        ((5.0, INF), (-INF, INF), (-2.0, 0.0, 0.0)),
        ((1.0, 1.0), (-INF, INF), (2.0, 0.0, 0.0)),
        ((5.0, 5.0), (-INF, INF), (-2.0, 0.0, 0.0)),
        ((-INF, 9.0), (-INF, 1.0), (0.0, 0.0, 2.0)),
        ((-INF, 9.0), (5.0, INF), (0.0, 2.0, 0.0)),
    ],
)
def test_signs_of_multipliers_are_those_of_the_protocol(solver_with, row, bounds, multipliers):
    """minimize (y - 3)^2 / 2: at y = 1 the gradient is -2, at y = 5 it is 2."""
    nlp = quadratic_with_rows(
        [[1.0]], [-3.0], [[1.0]], [row[0]], [row[1]], lower=np.array([bounds[0]]), upper=np.array([bounds[1]])
    )
    result = solver_with().solve(nlp)
    found = [result.row_multipliers[0], result.lower_multipliers[0], result.upper_multipliers[0]]
    assert result.converged
    np.testing.assert_allclose(found, multipliers, atol=1e-6)


def test_constraints_that_contradict_each_other_are_a_status_and_a_point(solver_with):
    result = solver_with().solve(infeasible())
    assert result.status in INFEASIBLE_STATUSES and not result.converged
    # On the line between the disc and the half plane at best (3 - sqrt 2) / sqrt 2 away.
    assert result.infeasibility > 0.3 and np.isfinite(result.y).all()


def test_the_iteration_limit_is_a_status_and_the_best_point(solver_with):
    nlp = rosenbrock()
    result = solver_with(max_iterations=3).solve(nlp)
    assert result.status is Status.ITERATION_LIMIT and result.iterations <= 3
    assert result.objective == pytest.approx(nlp.objective(result.y), rel=1e-12)
    assert result.objective <= nlp.objective(nlp.start)


def test_the_time_limit_is_a_status_and_the_best_point(solver_with, pass_time):
    result = solver_with(time_limit=0.2).solve(slow(0.05, pass_time))
    assert result.status is Status.TIME_LIMIT and result.seconds >= 0.2
    assert result.objective <= rosenbrock().objective(rosenbrock().start)


def test_a_derivative_that_becomes_nan_is_a_status_that_names_it(solver_with):
    """minimize y, whose gradient is defined for y > 1/2 only."""
    nlp = unconstrained(
        [1.0],
        lambda y: float(y[0]),
        lambda y: np.where(y > 0.5, 1.0, np.nan),
        lambda y: np.zeros((1, 1)),
    )
    result = solver_with().solve(nlp)
    assert result.status is Status.EVALUATION_ERROR
    assert "gradient" in result.detail and "not finite" in result.detail
    assert np.isfinite(result.y).all() and np.isfinite(result.objective)


@every("kind", FUNCTIONS)
def test_nan_from_any_function_is_a_status_that_names_it(solver_with, kind):
    result = solver_with().solve(failing(hs071(), kind, 3, lambda: np.nan))
    assert result.status is Status.EVALUATION_ERROR
    assert kind in result.detail and "not finite" in result.detail
    assert np.isfinite(result.y).all() and np.isfinite(result.objective)
    assert np.isfinite(result.row_multipliers).all()


@every("kind", FUNCTIONS)
def test_nan_at_the_start_is_an_error(solver_with, kind):
    named = "rows entries 0, 1 are" if kind == "rows" else f"{kind}.*"
    with pytest.raises(EvaluationError, match=f"{named} not finite at the starting point: start elsewhere"):
        solver_with().solve(failing(hs071(), kind, 0, lambda: np.nan))


@every("kind", FUNCTIONS)
def test_what_a_function_raises_leaves_solve_unchanged(solver_with, kind):
    def outcome():
        raise ZeroDivisionError("in the model")

    with pytest.raises(ZeroDivisionError, match="in the model"):
        solver_with().solve(failing(hs071(), kind, 6, outcome))


def test_what_the_callback_raises_leaves_solve_unchanged(solver_with):
    def callback(iteration):
        if iteration.iteration == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        solver_with().solve(hs071(), run=Run(callback=callback))


def test_the_callback_sees_every_iteration_in_order(solver_with):
    seen = []
    result = solver_with().solve(hs071(), run=Run(callback=seen.append))
    numbers = [iteration.iteration for iteration in seen]
    assert numbers[0] == 0 and numbers[-1] == result.iterations
    assert numbers == sorted(numbers) and set(numbers) == set(range(result.iterations + 1))
    assert len(seen) == len(result.history)
    assert np.all(np.diff([iteration.seconds for iteration in seen]) >= 0)


def test_a_start_at_the_answer_needs_a_few_iterations(solver_with):
    nlp = hs071()
    cold = solver_with().solve(nlp)
    warm = solver_with().solve(nlp, cold.warm_start)
    assert warm.converged and warm.iterations <= 3 < cold.iterations
    np.testing.assert_allclose(warm.y, cold.y, atol=1e-6)


def test_a_start_of_another_size_is_refused(solver_with):
    with pytest.raises(ShapeError, match=r"start.y has shape \(3,\) but the problem has 4 variables"):
        solver_with().solve(rosenbrock4(), WarmStart(np.ones(3)))


def rosenbrock4():
    """Four unknowns without rows, so that nothing is evaluated at a start before its size is checked."""
    return unconstrained(np.ones(4), lambda y: float(y @ y), lambda y: 2 * y, lambda y: 2 * np.eye(4))


def test_crossed_bounds_and_a_start_that_is_not_finite_are_refused(solver_with):
    nlp = rosenbrock()
    with pytest.raises(InfeasibleBoundsError, match="variables 1: the lower bound exceeds the upper one"):
        solver_with().solve(replace(nlp, lower=np.array([0.0, 2.0]), upper=np.array([1.0, 1.0])))
    with pytest.raises(InfeasibleBoundsError, match="rows 0: the lower bound exceeds the upper one"):
        solver_with().solve(replace(hs071(), row_upper=np.array([24.0, 40.0])))
    with pytest.raises(NotFiniteError, match="starting point is not finite in variables 0"):
        solver_with().solve(replace(nlp, start=np.array([np.nan, 1.0])))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["row_multipliers", "lower_multipliers", "upper_multipliers", "hessian"])
def test_a_start_with_multipliers_that_are_not_finite_is_begun_without_them(solver_with, name, bad):
    nlp = hs071()
    first = solver_with().solve(nlp)
    entries = np.ones(len(nlp.hessian_rows)) if name == "hessian" else np.array(getattr(first, name))
    entries[-1] = bad
    start = replace(first.warm_start, **{name: entries})
    found, cold = solver_with().solve(nlp, start), solver_with().solve(nlp, WarmStart(first.y))
    assert found.converged and start.is_spoilt
    np.testing.assert_array_equal(found.y, cold.y)
    assert "begun without them" in found.detail and "begun without them" not in cold.detail


def test_ctrl_c_is_a_status_and_the_best_point(solver_with):
    before = signal.getsignal(signal.SIGINT)

    def press():
        signal.raise_signal(signal.SIGINT)
        return 1.0

    result = solver_with().solve(failing(rosenbrock(), "gradient", 9, press, times=1))
    assert result.status is Status.INTERRUPTED
    assert 0.0 < result.objective < rosenbrock().objective(rosenbrock().start)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_pickled_solver_gives_the_same_answer(solver_with):
    solver = solver_with(max_iterations=200)
    copy = pickle.loads(pickle.dumps(solver))
    np.testing.assert_array_equal(copy.solve(hs071()).y, solver.solve(hs071()).y)


def test_an_option_that_no_solver_has_is_refused(solver_with):
    with pytest.raises(
        OptionError, match=r"'tolerence' is not an option|no option of .* is called 'tolerence'"
    ):
        solver_with(tolerence=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_run_limits_registered_solvers_which_keep_their_own_settings(name, pass_time):
    solver = create(name)
    assert {"tol", "time_limit", "max_iterations"} <= set(SOLVERS[name].options)
    assert solver.solve(rosenbrock(), run=Run(max_iterations=3)).status is Status.ITERATION_LIMIT
    assert solver.solve(slow(0.05, pass_time), run=Run().within(0.2)).status is Status.TIME_LIMIT
    coarse = solver.solve(hs071(), run=Run(tol=1e-2))
    assert coarse.converged and coarse.iterations < solver.solve(hs071()).iterations
    own = with_options(solver, {"max_iterations": 3}).solve(rosenbrock(), run=Run(max_iterations=10**9))
    assert own.status is Status.ITERATION_LIMIT and own.iterations <= 3


def test_a_run_without_a_deadline_has_no_limit_and_one_behind_it_a_millisecond():
    assert Run().seconds_left is None and not Run().expired
    assert Run().within(None) == Run() and 4.9 < Run().within(5.0).within(9.0).seconds_left <= 5.0
    assert Run(deadline=0.0).expired and Run(deadline=0.0).seconds_left == 1e-3


def test_what_a_run_leaves_open_is_as_in_the_general_one():
    general = Run(deadline=5.0, tol=1e-3, start_kind=StartKind.NEAR_START)
    mine = Run(deadline=9.0, tol=1e-6, max_iterations=0)
    assert mine.over(general) == Run(5.0, 1e-6, 0, StartKind.NEAR_START)


def test_settings_for_a_kind_of_start_leave_what_the_user_has_set():
    solver = with_options(create("ipopt"), {"mu_init": 1e-2})
    tolerances = RowTolerances(1e-11, 1e-9, 3)
    run = Run(start_kind=StartKind.NEAR_BOUNDS, row_tolerances=tolerances)
    within = solver.within(run)
    assert within.options["mu_init"] == 1e-2 and within.options["bound_push"] == 1e-4
    assert within.options["constr_viol_tol"] == 1e-11 and within.options["acceptable_iter"] == 3
    assert solver.solve(hs071(), run=run).converged


def test_behind_its_deadline_a_timed_solver_stops_what_solves_again_and_again():
    timed = TimedSolver(create(), Run().within(60.0))
    assert timed.solve(hs071(), run=Run(max_iterations=2)).status is Status.ITERATION_LIMIT
    few = replace(timed, run=replace(timed.run, max_iterations=2))
    assert few.solve(hs071()).status is Status.ITERATION_LIMIT
    with pytest.raises(SolvesStopped, match="the time limit was reached"):
        replace(timed, run=Run(deadline=0.0)).solve(hs071())


class Bare:
    """A user's solver that offers `solve` alone."""

    def solve(self, nlp, start=None, run=None) -> Result:
        return create().solve(nlp, start, run)


def test_a_solver_with_nothing_but_solve_is_used_as_it_is():
    bare = Bare()
    assert without_checkpoints(bare) is bare and takes_hessian(bare)
    assert with_options(bare, {}) is bare
    with pytest.raises(OptionError, match="Bare takes no options, but tol was given"):
        with_options(bare, {"tol": 1e-3})
    assert bare.solve(rosenbrock()).converged


def test_only_instances_are_solvers_and_only_registered_names_are_created():
    with pytest.raises(OptionError, match=r"solver is 3: give an instance such as trajopt.Ipopt\(\)"):
        check_solver(3)
    with pytest.raises(OptionError, match=r"solver is <class .*Bare'>: give an instance"):
        check_solver(Bare)
    with pytest.raises(OptionError, match=r"no solver is called 'ipot' .did you mean 'ipopt'"):
        create("ipot")


@pytest.mark.parametrize(
    "method",
    [
        lambda self, nlp, callback=None, start=None: None,
        lambda self, nlp, **options: None,
        lambda self, nlp, start, settings: None,
        lambda self, nlp: None,
    ],
)
def test_a_solver_with_other_arguments_is_refused_with_those_that_it_needs(method):
    foreign = type("Foreign", (), {"solve": method})()
    with pytest.raises(OptionError, match=r"solver's method is solve\(nlp, start, run\), with `start`"):
        run_solver(foreign, rosenbrock())
