"""IPOPT, the interior-point method of Wachter and Biegler (Math. Program. 106, 2006).

The library is the one in CasADi's wheels (`bundled_ipopt.py`) or cyipopt's, by one interface. The problems
arrive scaled, so the solver's own scaling is off. Its linear algebra has one BLAS thread.
"""

from __future__ import annotations

import functools
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Literal

import numpy as np

from trajopt.base.arguments import check_choice, check_instance
from trajopt.base.blas_threads import one_blas_thread
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT
from trajopt.solvers import bundled_ipopt
from trajopt.solvers.ipopt_options import IpoptOption, converted_options, parsed_options
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.optimality.kkt import is_optimal_to_rounding, kkt_residuals
from trajopt.solvers.run import SolverSettings
from trajopt.solvers.solver import Program, Result, Run, StartKind, Status, WarmStart
from trajopt.solvers.solver_constants import (
    BOUND_RELAXATION,
    FEASIBILITY,
    FURTHER_ROWS,
    WARM_BARRIER,
    WARM_PUSH,
)

# IpReturnCodes.h of IPOPT 3.14, complete.
_STATUSES = {
    0: Status.CONVERGED,
    1: Status.ACCEPTABLE,
    2: Status.INFEASIBLE,
    3: Status.STEP_TOO_SMALL,
    4: Status.DIVERGING,
    5: Status.INTERRUPTED,
    6: Status.FEASIBLE_POINT,
    -1: Status.ITERATION_LIMIT,
    -2: Status.RESTORATION_FAILED,
    -3: Status.STEP_FAILED,
    -4: Status.TIME_LIMIT,
    -5: Status.TIME_LIMIT,
    -10: Status.NOT_ENOUGH_FREEDOM,
    -11: Status.INVALID_PROBLEM,
    -12: None,  # an invalid option raises OptionError instead
    -13: Status.EVALUATION_ERROR,
    -100: Status.SOLVER_ERROR,
    -101: Status.SOLVER_ERROR,
    -102: Status.OUT_OF_MEMORY,
    -199: Status.SOLVER_ERROR,
}

_DEFAULTS: Mapping[str, Any] = {
    "nlp_scaling_method": "none",
    # IPOPT's own 1e-8 leaves violations above tol, 0 costs accuracy and iterations where two bounds meet.
    "bound_relax_factor": BOUND_RELAXATION,
    "mu_strategy": "adaptive",
    "adaptive_mu_globalization": "kkt-error",  # the filter kind never ends where nothing is feasible
    # Dense rows over few unknowns: matching and its scaling cost more than they save.
    "mumps_permuting_scaling": 0,
    "mumps_pivot_order": 0,
    "print_level": 0,
    "sb": "yes",
    "option_file_name": "",  # else a stray ipopt.opt in the working directory changes the answer
}
# Where constraints repeat each other, multipliers may grow to 1e17, and IPOPT divides its errors by their
# mean size: it called points solved whose objective was 0.5 too high. So its word is not taken alone. The
# library's problems have a divisor (`KKT.dual_scale`) of 129 at most; from a million on nothing is divided.
# Residuals at an optimum are near the tolerance, those of other points above WRONG times the gradient.
WRONG = 1e-4
# From a thousand spans of six joints on, accelerations and jerks are 1e4 to 1e9 times the control points:
# with MUMPS's own threshold of 1e-6, pivots lose digits, curvature is judged wrongly and the last iterations
# make no progress. The order is the one that knows dense rows, as those of a free duration are.
_LARGE_DEFAULTS: Mapping[str, Any] = {"mumps_pivtol": 1e-3, "mumps_pivot_order": 6}
LARGE = 3000  # unknowns
STILL = 5  # iterations in a row without a change of the objective, after which rounding is looked at
_PUSHED = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac")
# Without these IPOPT would push the given point, and multipliers near zero, back into the interior.
_WARM_DEFAULTS: Mapping[str, Any] = {
    "warm_start_init_point": "yes",
    **{f"warm_start_{bound}": WARM_PUSH for bound in _PUSHED},
    "warm_start_mult_bound_push": WARM_PUSH,
    "mu_strategy": "monotone",  # the adaptive one would choose its own, larger, first barrier
    "mu_init": WARM_BARRIER,
}
# Solves of a refinement start near their solution, and IPOPT's defaults push the start away from it: these
# values took 8 iterations instead of 16 on three links, 25 instead of more than 100 on six axes. Whether
# unknowns (durations above all) may start near their bounds makes 6 iterations or more than 100 of some
# solves, and which is better is not known beforehand: callers try both. Where knots were added to an
# optimum, slacks of active limits stay small and multipliers of bounds begin at barrier / slack: 28
# iterations instead of 67 on 173 spans of three links. Where only nodes were added, too: a UR5 of 1579
# unknowns and 7986 rows takes 20 iterations and 0.9 s instead of 40 and 1.9, with pushes of 1e-6 1.4 s.
_NEAR_START = {"mu_init": 1e-3, "bound_mult_init_method": "mu-based", **dict.fromkeys(_PUSHED[2:], 1e-4)}
_NEAR_OPTIMUM = {"mu_init": 1e-5, "bound_mult_init_method": "mu-based"}
_BY_START_KIND: Mapping[StartKind, Mapping[str, Any]] = {
    StartKind.NEAR_START: _NEAR_START,
    StartKind.NEAR_BOUNDS: {**_NEAR_START, **dict.fromkeys(_PUSHED, FURTHER_ROWS)},
    StartKind.SAME_MOTION: {**_NEAR_OPTIMUM, **dict.fromkeys(_PUSHED, FURTHER_ROWS)},
    StartKind.NEAR_OPTIMUM: {**_NEAR_OPTIMUM, **dict.fromkeys(_PUSHED, 1e-6)},
}
_OWN_FIELDS: Mapping[str, str] = {
    "tol": "tol",
    "max_iter": "max_iterations",
    "max_wall_time": "time_limit",
    "hessian_approximation": "hessian",
}


@dataclass(frozen=True)
class Ipopt(SolverSettings):
    """The settings of one IPOPT run.

    tol             largest scaled KKT error at which the solve counts as converged
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    hessian         "exact" second derivatives, or "lbfgs"; a problem without second derivatives gets "lbfgs"
    options         any other option of IPOPT, https://coin-or.github.io/Ipopt/OPTIONS.html
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen
    library         "casadi", the IPOPT in CasADi's wheels, "cyipopt", which may be one that was built with
                    other linear solvers, or None: CasADi's where it has one, which is faster, else cyipopt's

    Raises OptionError on construction for anything that IPOPT would not take.
    """

    hessian: Literal["exact", "lbfgs"] = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)
    feasibility: float = FEASIBILITY
    library: Literal["casadi", "cyipopt"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("hessian", self.hessian, ("exact", "lbfgs"))
        check_choice("library", self.library, ("casadi", "cyipopt", None))
        check_instance("options", self.options, Mapping, "a dictionary, option -> value")
        for name in _OWN_FIELDS.keys() & self.options.keys():
            own = _OWN_FIELDS[name]
            raise OptionError(f"options[{name!r}]: set it as Ipopt({own}=...), --option {own}=...")
        # The table needs a library of IPOPT: loaded only where there is a name to check.
        converted = converted_options(self.options, _option_table(self.library)) if self.options else {}
        object.__setattr__(self, "options", MappingProxyType(converted))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its settings: the read-only mapping of options cannot be pickled."""
        made = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        return functools.partial(type(self), **(made | {"options": dict(self.options)})), ()

    @staticmethod
    def version() -> str:
        """Version of the IPOPT that is used where none is named, and which package contains it."""
        ipopt = _library(None)
        if ipopt is bundled_ipopt:
            return f"{bundled_ipopt.version()}, of casadi"
        return f"{'.'.join(map(str, ipopt.IPOPT_VERSION))}, of cyipopt {ipopt.__version__}"

    def within(self, run: Run) -> Ipopt:
        """These settings within a run; options that are set already stay."""
        chosen = dict(_BY_START_KIND.get(run.start_kind, {}))  # type: ignore[arg-type]
        if (rows := run.row_tolerances) is not None:
            chosen |= {
                "constr_viol_tol": rows.rows,
                "acceptable_tol": rows.acceptable,
                "acceptable_constr_viol_tol": rows.acceptable,
                "acceptable_compl_inf_tol": rows.acceptable,
                "acceptable_iter": rows.acceptable_iterations,
                "mu_min": rows.least_barrier,
            }
        return replace(super().within(run), options={**chosen, **self.options})

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        ipopt = _library(self.library)
        monitor = self._monitor(nlp, start, run, refusal=ipopt.CyIpoptEvaluationError, shorten=True)
        second_order = self.hessian == "exact" and nlp.has_hessian
        calls = _Calls(nlp, monitor, second_order, self.tol)
        if self.hessian == "exact" and not second_order:
            logging.getLogger("trajopt").warning("no second derivatives: IPOPT uses L-BFGS instead")
        problem = ipopt.Problem(
            n=nlp.variable_count,
            m=nlp.row_count,
            problem_obj=calls,
            lb=nlp.lower,
            ub=nlp.upper,
            cl=nlp.row_lower,
            cu=nlp.row_upper,
        )
        try:
            large, warm = nlp.variable_count >= LARGE, monitor.start.has_multipliers
            settings = self if second_order else self._without_curvature(run)
            for name, value in settings._settings(second_order, warm, large).items():
                try:
                    problem.add_option(name, value)
                except TypeError:  # a build without MUMPS does not know the ones of ours that are MUMPS's
                    if name in self.options or not name.startswith("mumps_"):
                        raise
            with monitor.interruptible(), one_blas_thread(loaded=ipopt.__name__):
                return calls.finish(problem)
        finally:
            problem.close()  # frees IPOPT's memory now; the callbacks hold the problem in a reference cycle

    def _without_curvature(self, run: Run) -> Ipopt:
        """These settings with IPOPT's own pushes and multipliers, where only nodes were added.

        L-BFGS does not know the curvature of the optimum before: it ended as "acceptable" with ours. Options
        that a user set to our values go, too.
        """
        if run.start_kind is not StartKind.SAME_MOTION:
            return self
        ours = {**_BY_START_KIND[StartKind.SAME_MOTION], "mu_init": None}
        kept = {name: value for name, value in self.options.items() if ours.get(name) != value}
        return replace(self, options=kept)

    def _settings(self, second_order: bool, warm: bool, large: bool) -> dict[str, str | int | float]:
        own = {
            "tol": float(self.tol),
            "max_iter": int(self.max_iterations),
            "hessian_approximation": "exact" if second_order else "limited-memory",
        }
        chosen = {**_DEFAULTS, **(_LARGE_DEFAULTS if large else {}), **(_WARM_DEFAULTS if warm else {})}
        return {**chosen, **own, **self.options}


class _Calls:
    """One solve: what IPOPT calls, by the names that cyipopt has, and the translation of what it returns.

    still : iterations in a row that did not change the objective
    rounded : whether the solve was stopped at an optimum that rounding keeps from its tolerance
    """

    def __init__(self, nlp: Program, monitor: Monitor, second_order: bool, tol: float) -> None:
        self.nlp, self.monitor, self.tol = nlp, monitor, tol
        self.iterations, self.still, self.objective_before, self.rounded = 0, 0, np.inf, False
        self.problem: Any = None
        self.objective, self.gradient = monitor.objective, monitor.gradient
        self.constraints, self.jacobian = monitor.rows, monitor.jacobian
        if second_order:
            self.hessian = monitor.hessian
            self.hessianstructure = lambda: (nlp.hessian_rows, nlp.hessian_columns)

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self.nlp.jacobian_rows, self.nlp.jacobian_columns

    def intermediate(
        self,
        mode: int,
        iteration: int,
        objective: float,
        infeasibility: float,
        dual_infeasibility: float,
        barrier: float,
        step: float,
        *_: float,
    ) -> bool:
        # An exception leaving this function would vanish in IPOPT, so none may.
        self.iterations = iteration
        try:
            current = self.problem.get_current_iterate()
        except RuntimeError:
            return self.monitor.reason is None
        if mode == 1:  # restoration: the objective passed in belongs to another problem
            try:
                objective = self.monitor.objective(current["x"])
            except Exception:
                objective = np.inf
        at = WarmStart(current["x"], current["mult_g"], current["mult_x_L"], current["mult_x_U"])
        goes_on = self.monitor.iterate(iteration, at, current["g"], objective, dual_infeasibility, step)
        try:
            self.rounded = goes_on and self._stands_at_rounding(at, objective, infeasibility)
        except Exception:
            return goes_on
        return goes_on and not self.rounded

    def _stands_at_rounding(self, at: WarmStart, objective: float, infeasibility: float) -> bool:
        """True if iterations change nothing any more, and the point is optimal to rounding.

        Looked at after STILL iterations that changed the objective by rounding alone, after twice as many,
        and so on: IPOPT would go on for ever where rounding leaves more than its tolerances.
        """
        change, self.objective_before = abs(objective - self.objective_before), objective
        self.still = self.still + 1 if change <= AGREEMENT * max(1.0, abs(objective)) else 0
        looks = self.still >= STILL and self.still % STILL == 0 and (self.still // STILL).bit_count() == 1
        return looks and infeasibility <= self.tol and is_optimal_to_rounding(self.nlp, at, self.tol)

    def finish(self, problem: Any) -> Result:
        self.problem = problem
        start = self.monitor.start
        # Lists, because cyipopt compares these arguments with [].
        given = (start.row_multipliers, start.lower_multipliers, start.upper_multipliers)
        multipliers = [[] if each is None else each.tolist() for each in given]
        y, info = problem.solve(start.y, *multipliers)
        status = _STATUSES.get(info["status"], Status.UNKNOWN)
        if status is None:
            raise OptionError(
                "IPOPT refuses these options together; most often the linear solver named is not installed "
                "(its own message appears with options={'print_level': 5})"
            )
        final = WarmStart(y, info["mult_g"], np.maximum(info["mult_x_L"], 0), np.maximum(info["mult_x_U"], 0))
        if status is Status.ACCEPTABLE:
            self.rounded = is_optimal_to_rounding(self.nlp, final, self.tol)
        if self.rounded:
            status = Status.CONVERGED
        message = info["status_msg"].decode()
        if status is Status.CONVERGED and not self.rounded and (wrong := self._wrong_residual(final)):
            status, message = Status.STEP_FAILED, wrong
        return self.monitor.result(status, final, self.iterations, message)

    def _wrong_residual(self, final: WarmStart) -> str:
        """The residuals by which a point that IPOPT calls solved is no optimum, in words; else ""."""
        kkt = kkt_residuals(self.nlp, final)
        stationarity = kkt.stationarity / (kkt.dual_scale if FEASIBILITY * kkt.dual_scale < 1.0 else 1.0)
        size = max(1.0, float(np.abs(self.nlp.gradient(final.y)).max(initial=0.0)))
        complementarity = kkt.complementarity / kkt.complementarity_scale
        if max(stationarity, complementarity) <= max(WRONG, 10.0 * self.tol) * size:
            return ""
        return (
            f"IPOPT calls a point solved with a gradient of the Lagrangian of {kkt.stationarity:.1e} and a "
            f"complementarity of {kkt.complementarity:.1e}: constraints may repeat each other"
        )


def _library(name: str | None) -> Any:
    """`bundled_ipopt` or cyipopt, which have the same interface: the one named, else the first there is."""
    missing = []
    for each in ("casadi", "cyipopt") if name is None else (name,):
        try:
            if each == "cyipopt":
                import cyipopt  # 0.4 s, so on first use; compiled, so without types

                return cyipopt
            bundled_ipopt.library()
            return bundled_ipopt
        except ImportError as error:
            missing.append(str(error))
    if name is not None:
        raise OptionError(f"library = {name!r}: {missing[0]}; pip install casadi or cyipopt-wheels")
    raise ImportError(
        f"IPOPT is missing: {', and '.join(missing)}; pip install cyipopt-wheels, or use trajopt.Slsqp() for "
        "small problems"
    )


@functools.cache
def _option_table(library: str | None) -> dict[str, IpoptOption]:
    """The options of a library, which lists its options when it runs a problem of one variable."""
    ipopt = _library(library)
    nothing = SimpleNamespace(objective=lambda y: 0.0, gradient=np.zeros_like)
    listing = {
        "print_options_documentation": "yes",
        "print_advanced_options": "yes",
        "print_options_mode": "doxygen",
        "print_level": 0,
        "sb": "yes",
        "option_file_name": "",
        "file_print_level": 5,
        "max_iter": 0,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "options.txt"
        problem = ipopt.Problem(n=1, m=0, problem_obj=nothing, lb=[-1.0], ub=[1.0], cl=[], cu=[])
        for name, value in listing.items():
            problem.add_option(name, value)
        problem.add_option("output_file", str(path))
        problem.solve([0.0])
        problem.close()  # also closes the file
        return parsed_options(path.read_text())
