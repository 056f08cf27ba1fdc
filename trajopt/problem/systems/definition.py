"""`trajopt.system`: a system from names of states and controls and its equations, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, overload

from trajopt.base.arguments import check_count, check_function, check_instance, short_repr, unit
from trajopt.base.arguments import name as check_name
from trajopt.base.errors import OptionError
from trajopt.graph.protocols import Block, Dynamics, NodeFunction
from trajopt.graph.quantities import DEFINED, TIME_LEAVES
from trajopt.problem.input_checks import WIDEST, check_dynamics, index_of
from trajopt.problem.systems.augmented_dynamics import AugmentedDynamics
from trajopt.problem.systems.system import Drawing, System

RESERVED = frozenset((*TIME_LEAVES, *DEFINED, "used"))  # names that mean something else at a node
FORMS = "x' = f: rates=f, or 0 = g(x', x, u): residuals=g"

Names = Sequence[str] | Mapping[str, int]


@overload
def system(
    states: Names,
    controls: Names = (),
    rates: NodeFunction | Block | None = None,
    *,
    residuals: NodeFunction | None = None,
    units: Mapping[str, str] | None = None,
    draw: NodeFunction | None = None,
) -> System: ...
@overload
def system(
    states: Names,
    controls: Names = (),
    rates: NodeFunction | None = None,
    *,
    residuals: NodeFunction | None = None,
    dynamics: Dynamics,
    torques: NodeFunction | None = None,
    units: Mapping[str, str] | None = None,
) -> AugmentedDynamics: ...
def system(
    states: Names,
    controls: Names = (),
    rates: NodeFunction | Block | None = None,
    *,
    residuals: NodeFunction | None = None,
    dynamics: Dynamics | None = None,
    torques: NodeFunction | None = None,
    units: Mapping[str, str] | None = None,
    draw: NodeFunction | None = None,
) -> System | AugmentedDynamics:
    """A system x' = f(x, u, t, p) of named states and controls, to be given to `Problem` as its dynamics.

        def rates(node):
            return [node.speed, node.thrust / node.mass - 9.81, -node.thrust / 2000.0]

        rocket = trajopt.system(("altitude", "speed", "mass"), ("thrust",), rates)
        problem = trajopt.Problem(rocket, trajopt.Trajectory.collocation(intervals=20, order=4))

    states, controls : names, or name -> number of components, {"x": 3, "T": 50}: `node.T` is then a column
    rates : function of a node that returns one rate per state, a column where a state has several components,
        traced once: arithmetic, NumPy and casadi functions of `node.altitude`, `node.thrust`, `node.t`,
        `node.parameter("p")`, `node.data("wind")`.
        Or a block (see `trajopt.block_term`) of NumPy with one output (n,) and inputs among "x" (n,), "u"
        (all controls), "t", "duration" and "parameter:NAME".
    residuals : the implicit form 0 = g(x', x, u, t, p) in place of rates, a function of a node that returns
        one residual per state; `node.rate("speed")` is the rate of a state.
    dynamics : a robot whose further states these are, such as motor currents; its joints, torques and limits
        stay as they are. `node.q`, `node.v`, `node.tau` and its other quantities may enter the equations.
    torques : those of its motors, a function of a node that returns one torque per joint
    units : name of a state or control -> its unit in reports and figures, units={"altitude": "m"}
    draw : how the system looks: a function of a node that returns a line through points (x, z), z upwards, or
        (x, y, z), in m, or a list of such lines, of states alone. `trajopt.plot.motion`, films and reports
        then show it, with the path of the last point; a robot is drawn without

    A picture of a crane, and the motors of an arm:

        def crane(node):
            return [(node.trolley, 0.0), (node.trolley + 5.0 * np.sin(node.swing), -5.0 * np.cos(node.swing))]

        def rates(node):
            return (node.voltage - R * node.current - K * node.v) / L

        motors = trajopt.system(
            {"current": 2}, {"voltage": 2}, rates, dynamics=arm, torques=lambda node: K * node.current
        )

    The equations hold at the collocation points; `Solution.verify` looks between them. Raises OptionError for
    names that are no names or are given twice, ProblemError for a robot that is none.
    """
    x = _widths(states, "states")
    u = _widths(controls, "controls", x)
    if not x:
        raise OptionError("a system needs a state: states=('x',)")
    units_by_name = _units(units, (*x, *u))
    if (rates is None) == (residuals is None):
        raise OptionError(f"a system needs one form of its equations, {FORMS}")
    if rates is not None and (dynamics is not None or not hasattr(rates, "outputs")):
        _check_function("rates", rates, "" if dynamics is not None else " or a block, see trajopt.block_term")
    for what, function in (("residuals", residuals), ("torques", torques), ("draw", draw)):
        if function is not None:
            _check_function(what, function, "")
    if dynamics is not None:
        check_dynamics(dynamics)
        if draw is not None:
            raise OptionError("draw is given, but the robot is drawn already: leave it out")
        return AugmentedDynamics(dynamics, x, u, rates, residuals, torques, units_by_name)  # type: ignore[arg-type]
    if torques is not None:
        raise OptionError(
            "torques are given, which only systems of a robot have: use system(..., dynamics=robot)"
        )
    return System(x, u, rates, residuals, units_by_name, None if draw is None else Drawing(draw))


def _units(units: Any, names: Sequence[str]) -> dict[str, str]:
    """Name -> unit; UnknownNameError for a name that is no state or control."""
    by_name = {} if units is None else units
    check_instance("units", by_name, Mapping, f"a dictionary such as {{'{names[0]}': 'm'}}")
    for name in by_name:
        index_of(name, names, "state or control")
    return {name: unit(given, f"'{name}'") for name, given in by_name.items()}


def _check_function(what: str, given: Any, other: str) -> None:
    check_function(what, given, other)
    from trajopt.graph.trace import refuse_other_arguments

    refuse_other_arguments(given, 1, f"the function of the {what}")


def _widths(names: Any, what: str, taken: Iterable[str] = ()) -> dict[str, int]:
    """Name -> number of components, one each where none are given."""
    if isinstance(names, str | set | frozenset):  # letters, or in no order
        raise OptionError(f"{what} is {short_repr(names)}: give a tuple of names, as ('x', 'y')")
    try:
        several = list(names.items() if isinstance(names, Mapping) else ((name, 1) for name in names))
    except Exception as error:  # iterating over a foreign object may raise anything
        raise OptionError(f"{what} is {short_repr(names)}: give a tuple of names, as ('x', 'y')") from error
    found: dict[str, int] = {}
    for name, width in several:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or iskeyword(name):
            raise OptionError(
                f"{what} has {short_repr(name)}, but terms write node.NAME: use letters, digits and _, no "
                "word of Python's own"
            )
        check_name(name, f"a name among the {what}")
        if name in RESERVED:
            raise OptionError(f"{what} has {name!r}, which a node has already: choose another name")
        if name in (*found, *taken):
            raise OptionError(f"'{name}' is the name of two states or controls: give each its own")
        check_count(f"the width of '{name}'", width, 1, WIDEST)
        found[str(name)] = int(width)
    return found
