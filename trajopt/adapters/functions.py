"""`foreign_block`, `foreign_term`, `foreign_dynamics`: functions of JAX, PyTorch or NumPy in problems."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.adapters.jax_function import JaxFunction
from trajopt.adapters.numpy_function import NumpyFunction
from trajopt.adapters.stacked_function import ArrayFunction, BatchedFunction, FunctionBlock
from trajopt.adapters.torch_function import TorchFunction
from trajopt.base import arguments
from trajopt.base.errors import (
    EvaluationError,
    NotFiniteError,
    OptionError,
    ProblemError,
    ShapeError,
    TrajoptError,
)
from trajopt.graph.protocols import Block
from trajopt.problem.systems.state_equations import limits_of
from trajopt.terms.term import KnownByName

Library = Literal["jax", "torch", "numpy"]
LIBRARIES: Mapping[str, Callable[..., BatchedFunction]] = {
    "jax": JaxFunction,
    "torch": TorchFunction,
    "numpy": NumpyFunction,
}


def foreign_block(
    function: ArrayFunction,
    inputs: Mapping[str, int],
    library: Library = "jax",
    *,
    output: str = "rates",
    derivatives: ArrayFunction | None = None,
) -> Block:
    """A block y = f(u_1, u_2, ...) for the rates of a system, or for `trajopt.block_term`.

        def rates(x, u):
            return jnp.array([x[1], u[0] - jnp.sin(x[0])])

        pendulum = trajopt.system(
            ("angle", "speed"), ("torque",), trajopt.adapters.foreign_block(rates, {"x": 2, "u": 1})
        )

    function : of the inputs (w_i,) at one node, in the order of `inputs` -> (m,), arrays of the library
    inputs : quantity -> width
    library : "jax" and "torch" give exact first and second derivatives; "numpy" those of `derivatives`, or
        else differences of order six, and second ones by differences
    derivatives : of "numpy": the same arguments -> one matrix (m, w_i) for each

    Raises OptionError for a library that is not there, and for a function that branches on values;
    ShapeError for what is no vector; EvaluationError for fewer digits than float64.
    """
    _check(function, library, derivatives)
    if not isinstance(inputs, Mapping) or not inputs:
        raise OptionError(f"the inputs are {arguments.short_repr(inputs)}: give widths by names, {{'x': 2}}")
    names, widths = tuple(inputs), tuple(inputs.values())
    for name, width in inputs.items():
        arguments.check_count(f"the width of '{name}'", width, 1)
    return _made(function, names, widths, library, output, derivatives)


@dataclass(frozen=True, eq=False)
class FunctionTerm(KnownByName):
    """A term y = f(quantities of a node), f a function of a library; see `foreign_term`."""

    function: ArrayFunction
    inputs: tuple[str, ...]
    library: Library
    derivatives: ArrayFunction | None
    name: str
    unit: str = ""

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        widths = tuple(width_of(name) for name in self.inputs)
        return (_made(self.function, self.inputs, widths, self.library, self.quantity, self.derivatives),)


def foreign_term(
    function: ArrayFunction,
    library: Library = "jax",
    *,
    inputs: Sequence[str] | None = None,
    derivatives: ArrayFunction | None = None,
    name: str | None = None,
    unit: str = "",
) -> FunctionTerm:
    """A term y = f(quantities of a node) to be minimized or bounded, f written with another library.

        power = trajopt.adapters.foreign_term(lambda tau, v: tau * v, "jax", name="power", unit="W")
        problem.subject_to(power, upper=40.0)

    function : of quantities (w_i,) at one node -> (m,), arrays of the library
    inputs : the quantities; None: the names of its arguments. "position:hand" and "parameter:load" are no
        names of arguments
    library, derivatives : as those of `foreign_block`, which says what is raised
    """
    _check(function, library, derivatives)
    called = arguments.name(name or getattr(function, "__name__", "term"), "the name of a term")
    given = (inputs,) if isinstance(inputs, str) else inputs
    chosen = _arguments_of(function, called) if given is None else tuple(given)
    return FunctionTerm(function, chosen, library, derivatives, called, arguments.unit(unit, "a term"))


@dataclass(frozen=True, eq=False)
class FunctionDynamics:
    """A dynamics tau = f(q, v, a) whose f is a function of a library; see `foreign_dynamics`."""

    function: ArrayFunction
    joint_names: tuple[str, ...]
    limits: SimpleNamespace
    library: Library = "jax"
    derivatives: ArrayFunction | None = None

    @property
    def n(self) -> int:
        return len(self.joint_names)

    @cached_property
    def _inverse(self) -> Block:
        found = _made(self.function, ("q", "v", "a"), (self.n,) * 3, self.library, "tau", self.derivatives)
        if found.outputs["tau"] != self.n:
            raise ShapeError(
                f"the dynamics gives {found.outputs['tau']} torques for {self.n} joints: give one for each"
            )
        return found

    def block(self, outputs: Sequence[str], loads: Sequence[str] = ()) -> Block:
        """The block of tau. Raises ProblemError for any other quantity, and for loads."""
        others = [name for name in outputs if name != "tau"]
        if others or loads:
            wanted = arguments.list_names([*others, *(f"load on {link}" for link in loads)])
            raise ProblemError(
                f"a dynamics of a function computes tau alone, no {wanted}: write it as a term of "
                "q, v and a, trajopt.adapters.foreign_term"
            )
        return self._inverse

    def forward_dynamics(
        self, q: NDArray[np.float64], v: NDArray[np.float64], tau: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Accelerations (..., n) that need these torques, by Newton's method on f(q, v, a) = tau.

        One step where torques are linear in accelerations. Raises EvaluationError where it finds none.
        """
        shape = np.shape(q)
        u = {"q": np.reshape(q, (-1, self.n)), "v": np.reshape(v, (-1, self.n))}
        wanted, a = np.reshape(tau, (-1, self.n)), np.zeros_like(u["q"])
        for _ in range(20):  # Newton steps; torques linear in accelerations take one
            gap = wanted - self._inverse.value({**u, "a": a})["tau"]
            # 1e-12 of the torques' size, which is rounding
            if np.abs(gap).max(initial=0.0) <= 1e-12 * (1.0 + np.abs(wanted).max(initial=0.0)):
                return a.reshape(shape)
            slopes = self._inverse.partials({**u, "a": a})["tau", "a"]
            try:
                a = a + np.linalg.solve(slopes, gap[..., None])[..., 0]
            except np.linalg.LinAlgError:
                break
        raise EvaluationError("no accelerations were found for torques: is f(q, v, a) one-to-one in a?")


def foreign_dynamics(
    function: ArrayFunction,
    joints: Sequence[str],
    library: Library = "jax",
    *,
    derivatives: ArrayFunction | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> FunctionDynamics:
    """A dynamics tau = f(q, v, a), f written with another library.

        arm = trajopt.adapters.foreign_dynamics(inverse, ("shoulder", "elbow"), "torch", torque=10.0)
        problem = trajopt.Problem(arm, trajopt.Trajectory.uniform(20))

    function : of q, v, a (n,) at one node -> torques and forces of the joints (n,), arrays of the library
    joints : names of the n joints
    lower, upper, velocity, torque : limits in rad or m, rad/s or m/s, N m or N; a number or (n,), None: none.
        Those of velocity and torque hold in both directions
    library, derivatives : as those of `foreign_block`, which says what is raised

    The forward simulation of `Solution.verify` solves f(q, v, a) = tau for a.
    """
    _check(function, library, derivatives)
    listed = (joints,) if isinstance(joints, str) else joints
    names = tuple(arguments.name(joint, "the name of a joint") for joint in listed)
    if not names or len(set(names)) < len(names):
        raise OptionError(f"the joints are {arguments.list_names(names)}: give at least one, each name once")
    return FunctionDynamics(
        function, names, limits_given(len(names), lower, upper, velocity, torque), library, derivatives
    )


def limits_given(
    n: int,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> SimpleNamespace:
    """Limits of n joints as a dynamics has them, infinite where None is given.

    Raises ShapeError, NotFiniteError for NaN, OptionError for negative limits of velocity and torque, and
    ProblemError where there is no joint.
    """
    if n == 0:
        raise ProblemError("no joint of the model moves, so there is no motion to optimize: add a joint")
    stated = {"q_lower": lower, "q_upper": upper, "velocity": velocity, "torque_upper": torque}
    known = {}
    for name, value in stated.items():
        if value is not None:
            array = arguments.numbers(value, f"the limit {name}")
            if array.shape not in ((), (n,)):
                raise ShapeError(f"the limit {name} has shape {array.shape}: give a number, or ({n},)")
            if np.any(np.isnan(array)):
                raise NotFiniteError(f"the limit {name} is NaN: use an infinity for one that is absent")
            if name in ("velocity", "torque_upper") and np.any(array < 0.0):
                raise OptionError(f"the limit {name} is {array.min():g}: give its size, 0 or more")
            known[name] = np.broadcast_to(array, n).copy()
    if "torque_upper" in known:
        known["torque_lower"] = -known["torque_upper"]
    return limits_of(n, **known)


@lru_cache(maxsize=64)  # with what their libraries have compiled
def _made(
    function: ArrayFunction,
    names: tuple[str, ...],
    widths: tuple[int, ...],
    library: Library,
    output: str,
    derivatives: ArrayFunction | None,
) -> FunctionBlock:
    """The block of a function; the same one for the same arguments, so that libraries compile once."""
    label = f"the {library} function '{getattr(function, '__name__', type(function).__name__)}'"
    further = {} if derivatives is None else {"derivatives": derivatives}
    batched = LIBRARIES[library](function, widths, label, **further)
    inputs = dict(zip(names, widths, strict=True))
    try:
        return FunctionBlock(batched, inputs, output)
    except TrajoptError:
        raise
    except Exception as error:  # a function of others may raise anything
        given = ", ".join(f"{name} ({width},)" for name, width in inputs.items())
        raise OptionError(
            f"{label} failed as it was called with {given}: {type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}"
        ) from error


def _check(function: object, library: object, derivatives: object) -> None:
    arguments.check_choice("library", library, list(LIBRARIES))  # type: ignore[arg-type]
    if not callable(function) or isinstance(function, type):
        raise OptionError(
            f"the function is {arguments.short_repr(function)}: give a function of arrays (w,) at one node"
        )
    if not (isinstance(function, Hashable) and isinstance(derivatives, Hashable)):
        raise OptionError(
            f"{arguments.short_repr(function)}, or its derivatives, cannot be hashed, by which compiled "
            "functions are found again: make its class a frozen dataclass, or give a plain function"
        )
    if derivatives is not None and library != "numpy":
        raise OptionError(f"derivatives are given, which '{library}' computes itself: leave them out")


def _arguments_of(function: ArrayFunction, name: str) -> tuple[str, ...]:
    """Names of the arguments of a function; OptionError where they do not list its quantities."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        given = ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = tuple(each.name for each in given if each.kind in kinds and each.default is each.empty)
    if not names or len(names) != len(list(given)):
        raise OptionError(
            f"the arguments of '{name}' do not name its quantities: give them, inputs=('q', 'v')"
        )
    return names
