"""IPOPT, the interior-point method of Wachter and Biegler (Math. Program. 106, 2006).

The library is the one in CasADi's wheels (`BundledProblem`) or cyipopt's, by one interface. The problems
arrive scaled, so the solver's own scaling is off. Its linear algebra has one BLAS thread.

`BundledProblem` is IPOPT as CasADi's wheels contain it, by IPOPT's C interface.

`BundledProblem` has the part of cyipopt's interface that `Ipopt` uses. CasADi's own `nlpsol` would take
the functions of an NLP only as CasADi callbacks, and would give no iterate to the monitor. IPOPT's C
interface (IpStdCInterface.h of IPOPT 3.14) gives both.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_choice, check_instance
from trajopt.base.arrays import one_blas_thread
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT
from trajopt.solvers import ipopt as bundled_ipopt
from trajopt.solvers.ipopt_options import IpoptOption, converted_options, parsed_options
from trajopt.solvers.kkt import is_optimal_to_rounding, kkt_residuals
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.run import SolverSettings
from trajopt.solvers.solver import (
    BOUND_RELAXATION,
    FEASIBILITY,
    FURTHER_ROWS,
    WARM_BARRIER,
    WARM_PUSH,
    Program,
    Result,
    Run,
    StartKind,
    Status,
    WarmStart,
    unrelaxed,
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

Option: TypeAlias = str | int | float

_DEFAULTS: Mapping[str, Option] = {
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
_LARGE_DEFAULTS: Mapping[str, Option] = {"mumps_pivtol": 1e-3, "mumps_pivot_order": 6}
LARGE = 3000  # unknowns
STILL = 5  # iterations in a row without a change of the objective, after which rounding is looked at
_PUSHED = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac")
# Without these IPOPT would push the given point, and multipliers near zero, back into the interior.
_WARM_DEFAULTS: Mapping[str, Option] = {
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
_BY_START_KIND: Mapping[StartKind, Mapping[str, Option]] = {
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
    options: Mapping[str, Option] = field(default_factory=dict)
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

    def __reduce__(self) -> tuple[object, ...]:
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
        lower, upper, row_lower, row_upper = nlp.lower, nlp.upper, nlp.row_lower, nlp.row_upper
        if "bound_relax_factor" not in self.options:  # one that is stated means what IPOPT's manual says
            moved = min(BOUND_RELAXATION, float(self.options.get("constr_viol_tol", 1.0)))
            lower, upper = unrelaxed(lower, upper, moved)
            row_lower, row_upper = unrelaxed(row_lower, row_upper, moved)
        problem = ipopt.Problem(
            n=nlp.variable_count,
            m=nlp.row_count,
            problem_obj=calls,
            lb=lower,
            ub=upper,
            cl=row_lower,
            cu=row_upper,
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

    def finish(self, problem: BundledProblem) -> Result:
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
        stationarity = kkt.stationarity / kkt.divisor
        size = max(1.0, float(np.abs(self.nlp.gradient(final.y)).max(initial=0.0)))
        complementarity = kkt.complementarity / kkt.complementarity_scale
        if max(stationarity, complementarity) <= max(WRONG, 10.0 * self.tol) * size:
            return ""
        return (
            f"IPOPT calls a point solved with a gradient of the Lagrangian of {kkt.stationarity:.1e} and a "
            f"complementarity of {kkt.complementarity:.1e}: constraints may repeat each other"
        )


def _library(name: str | None) -> ModuleType:
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


NAMES = (
    "libipopt.so.3",
    "libipopt.so",
    "libipopt.3.dylib",
    "libipopt.dylib",
    "libipopt-3.dll",
    "ipopt-3.dll",
)

_int, _bool, _double = ctypes.c_int, ctypes.c_bool, ctypes.c_double
_DTYPES = {_int: np.dtype(np.intc), _double: np.dtype(np.float64)}
_ints, _doubles, _handle = ctypes.POINTER(_int), ctypes.POINTER(_double), ctypes.c_void_p
Pointer: TypeAlias = Any  # of C, to integers or floats
Numbers: TypeAlias = Sequence[float] | np.ndarray
_head = (_int, _doubles, _bool)  # n, x, whether x is new
_Values = ctypes.CFUNCTYPE(_bool, *_head, _doubles, _handle)  # of the objective or its gradient
_Rows = ctypes.CFUNCTYPE(_bool, *_head, _int, _doubles, _handle)
_Jacobian = ctypes.CFUNCTYPE(_bool, *_head, _int, _int, _ints, _ints, _doubles, _handle)
_Hessian = ctypes.CFUNCTYPE(
    _bool, *_head, _double, _int, _doubles, _bool, _int, _ints, _ints, _doubles, _handle
)
_Intermediate = ctypes.CFUNCTYPE(_bool, _int, _int, *[_double] * 8, _int, _handle)


class CyIpoptEvaluationError(Exception):
    """Raised by a function that cannot be evaluated at a point, as cyipopt's error of this name."""


class BundledProblem:
    """An NLP for IPOPT, as `cyipopt.Problem`.

    problem_obj : objective, gradient, constraints, jacobian, jacobianstructure; hessian and hessianstructure
        where there are second derivatives; intermediate. What has no constraints may lack theirs
    """

    def __init__(
        self, n: int, m: int, problem_obj: object, lb: ArrayLike, ub: ArrayLike, cl: ArrayLike, cu: ArrayLike
    ) -> None:
        self._n, self._m, self._functions = n, m, problem_obj
        watch = getattr(problem_obj, "intermediate", None)
        empty = (np.empty(0, int), np.empty(0, int))
        structure = getattr(problem_obj, "jacobianstructure", lambda: empty)
        of_jacobian = structure()
        of_hessian = getattr(problem_obj, "hessianstructure", lambda: empty)()
        #: IPOPT holds these functions as long as it lives
        self._kept = [
            _Values(self._values("objective", 1)),
            _Rows(self._values("constraints", m)),
            _Values(self._values("gradient", n)),
            _Jacobian(self._entries("jacobian", of_jacobian)),
            _Hessian(self._entries("hessian", of_hessian)),
            _Intermediate(lambda *values: watch is None or bool(watch(*values[:-1]))),
        ]
        low, high, row_low, row_high = (
            np.ascontiguousarray(bound, dtype=float).ctypes.data_as(_doubles) for bound in (lb, ub, cl, cu)
        )
        self._library = library()
        self._problem = self._library.CreateIpoptProblem(
            n, low, high, m, row_low, row_high,
            len(of_jacobian[0]), len(of_hessian[0]), 0, *self._kept[:-1],
        )  # fmt: skip
        if not self._problem:
            raise OptionError("IPOPT refuses the problem: its sizes or bounds are not usable")
        self._library.SetIntermediateCallback(self._problem, self._kept[-1])

    def add_option(self, name: str, value: str | int | float) -> None:
        """Set an option; TypeError where IPOPT refuses it."""
        library, key = self._library, name.encode()
        if isinstance(value, str):
            taken = library.AddIpoptStrOption(self._problem, key, value.encode())
        elif isinstance(value, int):
            taken = library.AddIpoptIntOption(self._problem, key, value)
        else:
            taken = library.AddIpoptNumOption(self._problem, key, float(value))
        if not taken:
            raise TypeError(f"IPOPT refuses {name} = {value!r}")

    def solve(
        self, start: Numbers, row_multipliers: Numbers = (), lower: Numbers = (), upper: Numbers = ()
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The final point, and its status, multipliers and rows."""
        y, g, objective = np.array(start, dtype=float), np.zeros(self._m), np.zeros(1)
        mult_g, mult_low, mult_high = (
            np.array(given, dtype=float) if len(given) else np.zeros(size)
            for given, size in ((row_multipliers, self._m), (lower, self._n), (upper, self._n))
        )
        arrays = (y, g, objective, mult_g, mult_low, mult_high)
        pointers = [array.ctypes.data_as(_doubles) for array in arrays]
        status = self._library.IpoptSolve(self._problem, *pointers, None)
        info = {"status": status, "status_msg": b"", "g": g, "obj_val": float(objective[0])}
        return y, info | {"mult_g": mult_g, "mult_x_L": mult_low, "mult_x_U": mult_high}

    def get_current_iterate(self) -> dict[str, np.ndarray]:
        """The iterate that `intermediate` is called at; RuntimeError where there is none."""
        x, low, high = np.zeros((3, self._n))
        g, rows = np.zeros((2, self._m))
        # Addresses: a pointer that is cast, as by `data_as`, leaves a reference cycle each time.
        of_unknowns = self._n, x.ctypes.data, low.ctypes.data, high.ctypes.data
        of_rows = self._m, g.ctypes.data, rows.ctypes.data
        if not self._library.GetIpoptCurrentIterate(self._problem, False, *of_unknowns, *of_rows):
            raise RuntimeError("IPOPT has no current iterate")
        return {"x": x, "mult_x_L": low, "mult_x_U": high, "g": g, "mult_g": rows}

    def close(self) -> None:
        """Free IPOPT's memory."""
        if self._problem:
            self._library.FreeIpoptProblem(self._problem)
            self._problem = None
            self._kept = []

    # -- what IPOPT calls; an exception must not leave these functions ---------------------------------

    def _values(self, name: str, size: int) -> Callable[..., bool]:
        """The callback for numbers, which stand last before the user's data."""

        def fill(n: int, x: Pointer, new: bool, *rest: Any) -> bool:
            return size == 0 or _filled(rest[-2], size, getattr(self._functions, name), _copy(x, n))

        return fill

    def _entries(self, name: str, places: tuple[np.ndarray, np.ndarray]) -> Callable[..., bool]:
        """The callback for entries of a sparse matrix, or for their places where no values are asked for."""

        def fill(n: int, x: Pointer, new: bool, *rest: Any) -> bool:
            *given, count, rows, columns, values, _ = rest
            if not values:
                for target, numbers in zip((rows, columns), places, strict=True):
                    if count:
                        _view(target, count, _int)[:] = numbers
                return True
            weights = ()
            if name == "hessian":
                factor, m, multipliers, _new = given
                weights = (_copy(multipliers, m) if m else np.empty(0), factor)
            function = getattr(self._functions, name)
            return count == 0 or _filled(values, count, function, _copy(x, n), *weights)

        return fill


Problem = BundledProblem  # the name under which cyipopt has its own


@functools.cache
def library() -> ctypes.CDLL:
    """The shared library in CasADi's folder; ImportError where there is none."""
    spec = importlib.util.find_spec("casadi")
    folder = Path(spec.origin or "").parent if spec else Path()
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        raise ImportError(f"no library of IPOPT lies in CasADi's folder {folder}")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    arrays = [_doubles] * 6
    loaded.CreateIpoptProblem.restype = _handle
    loaded.CreateIpoptProblem.argtypes = [
        _int, _doubles, _doubles, _int, _doubles, _doubles, _int, _int, _int,
        _Values, _Rows, _Values, _Jacobian, _Hessian,
    ]  # fmt: skip
    loaded.FreeIpoptProblem.argtypes, loaded.FreeIpoptProblem.restype = [_handle], None
    loaded.IpoptSolve.argtypes, loaded.IpoptSolve.restype = [_handle, *arrays, _handle], _int
    loaded.SetIntermediateCallback.argtypes = [_handle, _Intermediate]
    loaded.GetIpoptCurrentIterate.argtypes = [
        _handle, _bool, _int, _handle, _handle, _handle, _int, _handle, _handle
    ]  # fmt: skip
    for name, kind in (("Str", ctypes.c_char_p), ("Num", _double), ("Int", _int)):
        option = getattr(loaded, f"AddIpopt{name}Option")
        option.argtypes, option.restype = [_handle, ctypes.c_char_p, kind], _bool
    loaded.SetIntermediateCallback.restype = loaded.GetIpoptCurrentIterate.restype = _bool
    return loaded


def version() -> str:
    """Version of the library; those before 3.14.18 do not report it, and have the interface of 3.14."""
    loaded = library()
    if not hasattr(loaded, "GetIpoptVersion"):
        return "3.14"
    numbers = [_int() for _ in range(3)]
    loaded.GetIpoptVersion(*map(ctypes.byref, numbers))
    return ".".join(str(number.value) for number in numbers)


def _copy(pointer: Pointer, size: int) -> np.ndarray:
    """A copy of IPOPT's array, which it may write over later."""
    return np.array(_view(pointer, size, _double))


def _view(pointer: Pointer, size: int, kind: Any) -> np.ndarray:
    """IPOPT's own array; NumPy's `as_array` casts the pointer, which leaves a reference cycle each time."""
    memory = (kind * size).from_address(ctypes.addressof(pointer.contents))
    return np.frombuffer(memory, _DTYPES[kind])  # NumPy would look up the type of `memory` each time


def _filled(target: Pointer, size: int, function: Callable[..., ArrayLike], *arguments: object) -> bool:
    """Write what a function returns to IPOPT's array; False, a failed evaluation, where it raises."""
    try:
        _view(target, size, _double)[:] = function(*arguments)
    except Exception:  # the monitor keeps the reason and raises it after the solve
        return False
    return True
