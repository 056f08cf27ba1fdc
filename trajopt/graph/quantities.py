"""Quantities at a node: keys such as `q`, `extra:force` or `term:power`, declarations, a problem's table.

Leaves of the graph follow from the unknowns alone; all other quantities are computed by its blocks.

Declared are leaves, those of problems, and those that a dynamics usually computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, UnknownNameError, near_matches
from trajopt.graph.protocols import DescribedJoints, Dynamics, JointDescription

AXIS_NAMES = ("x", "y", "z")
_WRENCH = (*(f"moment {axis}" for axis in AXIS_NAMES), *(f"force {axis}" for axis in AXIS_NAMES))
_TWIST = (*(f"turning {axis}" for axis in AXIS_NAMES), *AXIS_NAMES)
_MOMENTUM = (*(f"angular {axis}" for axis in AXIS_NAMES), *AXIS_NAMES)


@dataclass(frozen=True)
class DeclaredQuantity:
    """A quantity at a node, (width,), or a family of them that differ in their argument.

    width : number of components, None for one per joint
    unit, description : SI unit and meaning, for people
    components : their names in reports; left out: the joints' names if there is one per joint, or numbers
    argument : kind of thing that is named behind the colon, "link" in "position:foot"; "" without a colon
    block : quantities of a dynamics with the same value here are computed by one block
    changed_by_loads : whether it contains the wrenches of `Problem.load`
    """

    width: int | None
    unit: str
    description: str
    components: tuple[str, ...] = ()
    argument: str = ""
    block: str = ""
    changed_by_loads: bool = False


#: Quantities that come straight from the unknowns; the keys are those of `leaves`.
LEAVES: Mapping[str, DeclaredQuantity] = {
    "q": DeclaredQuantity(None, "rad or m", "joint positions"),
    "v": DeclaredQuantity(None, "rad/s or m/s", "joint velocities"),
    "a": DeclaredQuantity(None, "rad/s^2 or m/s^2", "joint accelerations"),
    "jerk": DeclaredQuantity(None, "rad/s^3 or m/s^3", "third derivatives of the joint positions"),
    "t": DeclaredQuantity(1, "s", "time since the start of the motion"),
    "duration": DeclaredQuantity(1, "s", "duration of the whole motion"),
    "arc_duration": DeclaredQuantity(1, "s", "duration of the arc in which the node lies"),
}

#: Quantities that a problem itself defines: the argument is the name under which it was defined.
DEFINED: Mapping[str, str] = {
    "parameter": "a constant unknown of the problem",
    "extra": "an unknown curve beside the joints' curves",
    "rate": "the derivative by time of a state",
    "data": "a given curve",
}

_INVERSE, _KINEMATICS = "inverse dynamics", "kinematics"

#: Quantities that a dynamics without the attribute `quantities` computes.
STANDARD: Mapping[str, DeclaredQuantity] = {
    "tau": DeclaredQuantity(
        None,
        "N m or N",
        "generalized forces of the joints, M a + C v + gravity terms - J' loads",
        block=_INVERSE,
        changed_by_loads=True,
    ),
    "base_wrench": DeclaredQuantity(
        6,
        "N m; N",
        "wrench of the ground on the robot if no loads act, [moment; force], world axes and origin",
        _WRENCH,
        block=_INVERSE,
    ),
    "wrench": DeclaredQuantity(
        6,
        "N m; N",
        "wrench that a joint transmits to its link, [moment; force], link axes, about the joint's origin",
        _WRENCH,
        "joint",
        _INVERSE,
        changed_by_loads=True,
    ),
    "position": DeclaredQuantity(
        3, "m", "origin of a link or frame, world axes", AXIS_NAMES, "link", _KINEMATICS
    ),
    "orientation": DeclaredQuantity(
        9, "1", "rotation matrix of a link or frame to world axes, row by row", (), "link", _KINEMATICS
    ),
    "velocity": DeclaredQuantity(
        6,
        "rad/s; m/s",
        "velocity of a link or frame, [angular; linear of its origin], world axes",
        _TWIST,
        "link",
        _KINEMATICS,
    ),
    "centre_of_mass": DeclaredQuantity(
        3, "m", "centre of mass of all links, world axes", AXIS_NAMES, block=_KINEMATICS
    ),
    "momentum": DeclaredQuantity(
        6,
        "kg m^2/s; kg m/s",
        "momentum of all links, [angular; linear], world axes, about the world origin",
        _MOMENTUM,
        block=_KINEMATICS,
    ),
    "kinetic_energy": DeclaredQuantity(1, "J", "kinetic energy of all links", block=_KINEMATICS),
    "potential_energy": DeclaredQuantity(1, "J", "potential energy of all links", block=_KINEMATICS),
}


def described(quantity: str) -> str:
    """Meaning, shape and unit of a standard quantity: "joint positions, (n,), rad or m"."""
    family = quantity.partition(":")[0]
    found = LEAVES.get(family, STANDARD.get(family))
    if found is None:
        return DEFINED.get(family, "a quantity of the dynamics")
    return f"{found.description}, ({'n' if found.width is None else found.width},), {found.unit}"


SPLINE_LEAVES = ("q", "v", "a", "jerk")  # the derivatives of orders 0 to 3 of the joints' curves
EXTRA, RATE, PARAMETER = "extra:", "rate:", "parameter:"  # before the name of a curve, or a constant unknown
#: Families whose members a problem declares -> the call that does it.
DECLARING = {
    "parameter": "problem.parameter('{}', lower=..., upper=...)",
    "extra": "problem.extra('{}')",
    "data": "problem.data('{}', times, values)",
}
TIME_LEAVES = ("t", "duration", "arc_duration")  # s; of the node, of the motion, of the node's arc
TORQUES = "tau", "motor_torque"  # of joints, and of motors beside springs and dampers of the joints
_PREFIX, _INTEGRAND = "term:", " dt"  # before the name of a term, and behind the key of an integrand


@dataclass(frozen=True)
class SplineLeaf:
    """A leaf that is a derivative by time of curves of the trajectory: their columns and the order.

    group : of curves with a common spline basis; the joints are in group 0
    """

    order: int
    curves: slice
    group: int = 0

    @property
    def width(self) -> int:
        return self.curves.stop - self.curves.start


def extra_leaf(name: str) -> str:
    """The leaf that carries an additional curve, a contact force for instance."""
    return f"{EXTRA}{name}"


def rate_leaf(name: str) -> str:
    """The leaf that carries the derivative by time of an additional curve."""
    return f"{RATE}{name}"


def parameter_leaf(name: str) -> str:
    """The leaf that carries a constant unknown."""
    return f"{PARAMETER}{name}"


def is_parameter(quantity: str) -> bool:
    """True if a quantity is a constant unknown."""
    return quantity.startswith(PARAMETER)


def is_extra(quantity: str) -> bool:
    """True if a quantity is an additional curve."""
    return quantity.startswith(EXTRA)


def own_term(name: str) -> str:
    """The key of the value of a user's term."""
    return f"{_PREFIX}{name}"


def integrand(quantity: str) -> str:
    """The key of T * quantity, whose quadrature over normalised time is the integral over time."""
    return f"{quantity}{_INTEGRAND}"


def bare(quantity: str) -> str:
    """The quantity without the mark of an integrand: "tau" of "tau dt" and of "tau"."""
    return quantity.removesuffix(_INTEGRAND)


def term_of(quantity: str) -> str:
    """The name of a quantity in messages: `term 'power'` for a term and its integrand, else `'tau'`."""
    name = bare(quantity)
    return f"term '{name[len(_PREFIX) :]}'" if name.startswith(_PREFIX) else f"'{name}'"


def entry(quantity: str, component: int, width: int, components: Callable[[str, int], list[str]]) -> str:
    """The name of a component in messages, `term 'power', component knee`; `components` : names of all."""
    label = components(quantity, width)[component]
    return f"{term_of(quantity)}, component {label}" if label else term_of(quantity)


def quantity_of(term: object) -> str:
    """The quantity of a term; OptionError for an object that is no term."""
    quantity = getattr(term, "quantity", None)
    if not isinstance(quantity, str):
        raise no_term(term)
    return quantity


def no_term(given: object) -> OptionError:
    """The error for an object that is no term."""
    hint, shown = "use a term such as trajopt.tau", short_repr(given)
    if callable(given):
        hint = "decorate the function with @trajopt.term"
        shown = f"the function {getattr(given, '__name__', shown)}"
    elif isinstance(given, str):
        known = given in (*SPLINE_LEAVES, "tau", "t", "duration")
        hint = f"write trajopt.{given}, without quotes" if known else f"use trajopt.state({shown})"
    return OptionError(f"{shown} is no term: {hint}, or write a class with name, quantity and blocks")


def slices_of(widths: Mapping[str, int]) -> dict[str, slice]:
    """The places of quantities that stand one after the other; widths : quantity -> number of components."""
    ends = list(accumulate(widths.values(), initial=0))
    return dict(zip(widths, map(slice, ends, ends[1:]), strict=True))


class QuantityTable:
    """Every quantity that terms of a problem may ask for: names, widths, names of components, units.

    Called with a name it gives the width.

    declared : family -> declaration, of the leaves and of the quantities of the dynamics
    defined : key -> declaration, of the quantities that the problem defines itself, such as "parameter:load"
    aliases : name -> quantity and component, several or None for all, where coordinates have names
    """

    def __init__(self, dynamics: Dynamics, defined: Mapping[str, DeclaredQuantity]) -> None:
        self.declared: dict[str, DeclaredQuantity] = {**LEAVES, **declared_by(dynamics)}
        self.dynamics, self.defined = dynamics, dict(defined)
        self.joint_names = tuple(dynamics.joint_names)
        # No isinstance here and below: a protocol takes 20 us to look at.
        self.aliases: dict[str, tuple[str, int | slice | None]] = dict(getattr(dynamics, "aliases", {}))
        self._n = dynamics.n

    def __call__(self, quantity: str) -> int:
        """Number of components; UnknownNameError for a name that is not in the table."""
        width = self.declaration(quantity).width
        return self._n if width is None else width

    def knows(self, family: str) -> bool:
        """True if there is a quantity of this name, or a family of them."""
        return family in self.declared or family in self.defined

    def declaration(self, quantity: object) -> DeclaredQuantity:
        """The declaration of a quantity; UnknownNameError for another name."""
        if not isinstance(quantity, str):
            raise UnknownNameError(f"no quantity is called {short_repr(quantity)}: give a name such as 'q'")
        if quantity in self.defined:
            return self.defined[quantity]
        family, _, argument = quantity.partition(":")
        found = self.declared.get(family)
        if found is None or (argument and not found.argument):
            check: Callable[[str], None] | None = getattr(self.dynamics, "check_quantity", None)
            if check is not None:
                check(quantity)
            if family == RATE[:-1] and extra_leaf(argument) in self.defined:
                raise UnknownNameError(
                    f"'{argument}' may jump, so it has no rate: let it be continuous, problem.control("
                    f"'{argument}', continuous=True), or make it a state whose rate is the control"
                )
            if argument and family in DECLARING:
                raise UnknownNameError(
                    f"no quantity is called {short_repr(quantity)}{near_matches(quantity, self.defined)}: "
                    f"declare it first, {DECLARING[family].format(argument)}"
                )
            if quantity in self.aliases:
                raise UnknownNameError(
                    f"'{quantity}' is a name of functions of a node: an input of a block is called "
                    f"'{self.aliases[quantity][0]}' here"
                )
            known = [*self.aliases, *self.declared, *self.defined]
            coordinates = (name for name in self.aliases if ":" not in name)
            spelled = (_spelled(*item) for item in self.declared.items())
            aliased = {quantity for quantity, _ in self.aliases.values()}  # listed by their short names
            others = (name for name in self.defined if name not in aliased)
            listed = dict.fromkeys([*coordinates, *spelled, *others])
            raise UnknownNameError(
                f"no quantity is called {short_repr(quantity)}{near_matches(quantity, known)}: "
                f"known are {', '.join(listed)}"
            )
        if found.argument and not argument:
            raise UnknownNameError(
                f"'{quantity}' needs the name of a {found.argument}: '{_spelled(quantity, found)}'"
            )
        return found

    def is_per_joint(self, quantity: str) -> bool:
        """True if there is one component per joint."""
        found = self.declared.get(quantity)
        return found is not None and found.width is None and not found.components

    def components(self, quantity: str) -> tuple[str, ...]:
        """Names of the components, those of the joints where there is one per joint; empty without names."""
        if self.is_per_joint(quantity):
            return self.joint_names
        found = self.known(quantity)
        return () if found is None else tuple(found.components)

    def changed_by_loads(self, quantities: Iterable[str]) -> set[str]:
        """The quantities among these that contain the wrenches of `Problem.load`."""
        return {name for name in quantities if (found := self.known(name)) and found.changed_by_loads}

    def by_block(self, quantities: Iterable[str]) -> list[tuple[str, ...]]:
        """Quantities of the dynamics, sorted, those that one block computes together."""
        together: dict[str, list[str]] = {}
        for quantity in sorted(quantities):
            together.setdefault(found.block if (found := self.known(quantity)) else "", []).append(quantity)
        return [tuple(together[block]) for block in sorted(together)]

    def known(self, quantity: str) -> DeclaredQuantity | None:
        """The declaration of a quantity; None where there is none."""
        return self.defined.get(quantity) or self.declared.get(quantity.partition(":")[0])


def declared_by(dynamics: Dynamics) -> Mapping[str, DeclaredQuantity]:
    """The quantities that the dynamics declares, or the standard ones."""
    return getattr(dynamics, "quantities", STANDARD)


def described_joints(dynamics: Dynamics) -> Sequence[JointDescription]:
    """The joints of a dynamics where it describes them, else none."""
    return dynamics.joints if isinstance(dynamics, DescribedJoints) else ()


def has_springs(joint: JointDescription) -> bool:
    """True if a spring or a damper acts beside the motor of a joint, which then gives more than tau."""
    return bool(getattr(joint, "stiffness", 0.0) or getattr(joint, "damping", 0.0))


def families_with_argument(width_of: Callable[[str], int]) -> frozenset[str]:
    """Families of quantities that are named with an argument: `node.position("foot")` in a traced term."""
    if not isinstance(width_of, QuantityTable):
        return frozenset((*DEFINED, *(name for name, quantity in STANDARD.items() if quantity.argument)))
    declared = (name for name, quantity in width_of.declared.items() if quantity.argument)
    named = (name.partition(":")[0] for name in width_of.aliases if ":" in name)
    return frozenset((*DEFINED, *declared, *named))


def _spelled(family: str, quantity: DeclaredQuantity) -> str:
    return f"{family}:{quantity.argument.upper()}" if quantity.argument else family
