"""Schedules of contacts, with impacts: which feet stand in which arc of a motion, and how long arcs take.

At an impact of feet velocities jump where arcs meet, by impulses within the friction cone:

    M(q) (v+ - v-) = sum_c J_c' p_c        of all feet that stand after it
    J v+ = 0                               no restitution, no sliding
    p_c = sum_k lambda_ck (n + mu t_k),    lambda_ck >= 0

v- and v+ are the velocities before and after; motors and gravity give no impulse in no time. Friction is
Coulomb's of the impulse, as if its direction did not turn during the impact.
Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 11.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import check_count, check_known, check_positive, is_listed, list_names, short_repr
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError
from trajopt.graph.graph import NamedBlock
from trajopt.graph.protocols import Block
from trajopt.graph.quantities import own_term
from trajopt.problem.contacts.contact import Contact
from trajopt.splines.basis import SplineBasis
from trajopt.splines.quadrature import RuleName
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.arithmetic import total
from trajopt.terms.term import ExpressionTerm, KnownByName

if TYPE_CHECKING:
    from trajopt.graph.trace import NodeSymbols


Duration = float | tuple[float, float]  # s; (shortest, longest) where it is free


@dataclass(frozen=True)
class Stance:
    """One arc of a schedule.

    feet : those that stand, none in flight
    duration : s, or (shortest, longest)
    """

    feet: tuple[str, ...]
    duration: Duration


@dataclass(frozen=True)
class Schedule:
    """The feet that stand in every arc of a motion, one after the other.

        Schedule.trot(("FL", "HR"), ("FR", "HL"), period=0.5)
        Schedule.jump(("FL", "FR", "HL", "HR"), push=(0.1, 0.5), flight=(0.1, 0.6), landing=(0.1, 0.5))
        Schedule([(("left",), 0.4), (("left", "right"), 0.1), ...])

    stances : one per arc, or pairs of feet and duration
    feet : all of them, in the order in which they first stand where it is left out; some may never stand

    A duration is a number of seconds, or (shortest, longest) for a free one. Raises OptionError for a
    schedule without arcs, for feet that are named twice in an arc, and for what is no duration.
    """

    stances: Sequence[Any]
    feet: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not is_listed(self.stances) or not self.stances:
            raise OptionError(
                f"the stances of a schedule are {short_repr(self.stances)}: give one pair (feet, duration) "
                "per arc, [(('left',), 0.4), (('right',), 0.4)]"
            )
        object.__setattr__(self, "stances", tuple(map(stance_of, self.stances)))
        standing = dict.fromkeys(foot for stance in self.stances for foot in stance.feet)
        object.__setattr__(self, "feet", names_of_feet(self.feet or tuple(standing)))
        if not self.feet or not set(standing) <= set(self.feet):
            raise OptionError(
                f"the feet of the schedule are {list_names(self.feet) or 'none'}, but those that stand are "
                f"{list_names(standing) or 'none'}: name all, at least one"
            )

    @staticmethod
    def standing(feet: Sequence[str], duration: Duration) -> Schedule:
        """All feet stand in one arc."""
        return Schedule([(feet, duration)])

    @staticmethod
    def trot(first: Sequence[str], second: Sequence[str], period: float, flight: float = 0.0) -> Schedule:
        """Two groups of feet stand in turns, each for half a period less the flight after it."""
        return alternating((first, second), period, flight)

    @staticmethod
    def bound(hind: Sequence[str], front: Sequence[str], period: float, flight: float) -> Schedule:
        """Hind feet and front feet stand in turns with a flight after each, all within one period."""
        return alternating((hind, front), period, flight)

    @staticmethod
    def walk(feet: Sequence[str], period: float, lifted: float = 0.2) -> Schedule:
        """One foot after the other is lifted, in the order given, each for a part `lifted` of the period.

        Between two lifts all feet stand; `lifted` of four feet is below 1/4, of two below 1/2.
        """
        count = len(names_of_feet(feet))
        check_positive("period", period)
        check_positive("lifted", lifted)
        if not lifted < 1.0 / max(count, 1):
            raise OptionError(
                f"each of {count} feet is lifted for a part {short_repr(lifted)} of the period: give more "
                f"than 0 and less than {1.0 / max(count, 1):.3g}, as all stand in between"
            )
        stances: list[tuple[Sequence[str], float]] = []
        for foot in feet:
            stances.append((feet, period * (1.0 / count - lifted)))
            stances.append(([other for other in feet if other != foot], period * lifted))
        return Schedule(stances)

    @staticmethod
    def jump(
        feet: Sequence[str],
        push: Duration = (0.1, 1.0),
        flight: Duration = (0.05, 1.0),
        landing: Duration = (0.1, 1.0),
    ) -> Schedule:
        """All feet push, none stands, all land."""
        return Schedule([(feet, push), ((), flight), (feet, landing)])

    @property
    def durations(self) -> tuple[Duration, ...]:
        """Durations of the arcs, s."""
        return tuple(stance.duration for stance in self.stances)

    def arcs(self, foot: str) -> tuple[int, ...]:
        """The arcs in which a foot stands, counted from 0; UnknownNameError for another name."""
        check_known("foot of the schedule", foot, self.feet)
        return tuple(arc for arc, stance in enumerate(self.stances) if foot in stance.feet)

    def first(self, count: int) -> Schedule:
        """The first arcs alone, half a period of a symmetric gait for instance."""
        check_count("the number of arcs of a schedule", count, 1, len(self.stances))
        return replace(self, stances=self.stances[:count])

    def trajectory(
        self, intervals: int | Sequence[int] = 8, order: int = 3, points: RuleName = "radau"
    ) -> Trajectory:
        """A mesh with one arc per stance: `Trajectory.collocation`, narrow intervals at both ends of each.

        intervals : of every arc, or one number for each; they end at s_k = (1 - cos(pi k / intervals)) / 2,
            as equations miss most between nodes where feet have just touched down or soon lift
        """
        count = len(self.stances)
        each = list(intervals) if isinstance(intervals, Iterable) else [intervals] * count
        if len(each) != count:
            raise OptionError(f"intervals are given for {len(each)} arcs, the schedule has {count}")
        meshes = [Trajectory.collocation(narrow_at_ends(one), order, points).arcs[0] for one in each]
        mesh = Trajectory.collocation(1, order, points)
        return replace(mesh, arcs=tuple(meshes)).with_durations(self.durations)

    def __str__(self) -> str:
        return "; ".join(
            f"{list_names(stance.feet) or 'flight'}, {stance.duration} s" for stance in self.stances
        )


def narrow_at_ends(intervals: int) -> Array:
    """Breakpoints of an arc from 0 to 1, closest to each other at its ends."""
    return 0.5 - 0.5 * np.cos(np.pi * SplineBasis.uniform(intervals).breakpoints)


def stance_of(given: object) -> Stance:
    """A stance, of one or of a pair (feet, duration), checked."""
    if isinstance(given, Stance):
        feet, duration = given.feet, given.duration
    elif is_listed(given) and len(given) == 2:
        feet, duration = given
    else:
        raise OptionError(f"a stance is {short_repr(given)}: give a pair (feet, duration), (('left',), 0.4)")
    shortest, longest = seconds(duration)
    if not (0.0 < shortest <= longest and np.isfinite(shortest)):
        raise OptionError(
            f"the duration of a stance is {short_repr(duration)} s: give a number above 0, or (shortest, "
            "longest), of which the second may be infinite"
        )
    return Stance(names_of_feet(feet), shortest if shortest == longest else (shortest, longest))


def names_of_feet(given: Any) -> tuple[str, ...]:
    listed = hasattr(given, "__len__") and not isinstance(given, str)
    if not listed or not all(isinstance(foot, str) and foot for foot in given):
        raise OptionError(f"feet are {short_repr(given)}: give a sequence of names, ('left', 'right')")
    if len(set(given)) < len(given):
        raise OptionError(f"a foot is named twice: {list_names(given)}; name each once")
    return tuple(given)


def seconds(duration: object) -> Iterator[float]:
    """The two bounds of a duration."""
    pair = duration if is_listed(duration) and len(duration) == 2 else (duration, duration)
    for each in pair:
        if isinstance(each, bool) or not isinstance(each, int | float) or each != each:
            raise OptionError(
                f"the duration of a stance is {short_repr(duration)}: give seconds, or (shortest, longest)"
            )
        yield float(each)


def alternating(groups: Sequence[Sequence[str]], period: float, flight: float) -> Schedule:
    """Groups of feet that stand in turns within one period, each followed by a flight (s) unless it is 0.

    OptionError for a group without feet, and for a foot in two of them, which would never swing.
    """
    check_positive("period", period)
    check_positive("flight", flight, or_zero=True)
    names_of_feet([foot for feet in groups for foot in names_of_feet(feet)])
    if not all(groups):
        raise OptionError("a group of feet is empty: give names in both groups that stand in turns")
    share = period / len(groups)
    if not flight < share:
        raise OptionError(
            f"a flight of {short_repr(flight)} s follows each of {len(groups)} stances within a period of "
            f"{period} s: give less than {share} s"
        )
    stances: list[tuple[Sequence[str], float]] = []
    for feet in groups:
        stances.append((feet, share - flight))
        if flight:
            stances.append(((), flight))
    return Schedule(stances)


LOAD = "load:"
Pairs = dict[tuple[str, str], Array]


def after_name(arc: int) -> str:
    """Name of the curve that is 0 before an impact and 1 after it."""
    return f"after impact, arc {arc}"


def names_of(contacts: Sequence[Contact]) -> str:
    """Their frames: terms of fewer feet, made before the others were added, have other names."""
    return " ".join(contact.frame for contact in contacts)


def impulses_after(contacts: Sequence[Contact], arc: int, node: NodeSymbols) -> list[Number]:
    """(6,) the impulses on one link after the impact, zero before it."""
    behind = node.extra(after_name(arc))[0]
    return [behind * part for part in total(contact.impulse_wrench(node, arc) for contact in contacts)]


@dataclass(frozen=True, eq=False)
class ImpactTerm(KnownByName):
    """M(q) v + g(q) less J' p after the impact, (n,): it does not change where arcs meet, as q does not.

    dynamics : of the robot, whose block of inverse dynamics computes it, with v in place of a
    feet : link -> the contacts on it that take an impulse where `arc` begins
    """

    dynamics: Any
    arc: int
    feet: Mapping[str, tuple[Contact, ...]]

    @property
    def name(self) -> str:
        return f"momentum of impact, arc {self.arc}, {names_of(sum(self.feet.values(), ()))}"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        names = {
            link: f"impulses on {link}, arc {self.arc}, {names_of(on)}" for link, on in self.feet.items()
        }
        found: list[Number] = []
        for link, contacts in self.feet.items():
            term = ExpressionTerm(partial(impulses_after, contacts, self.arc), names[link])
            found += term.blocks(width_of)
        inner = self.dynamics.block(("tau",), tuple(self.feet))
        inputs = {f"{LOAD}{link}": own_term(name) for link, name in names.items()}
        return (*found, NamedBlock(MomentumBlock(inner), inputs, {"tau": self.quantity}))


class MomentumBlock:
    """Inverse dynamics of a robot at rest whose acceleration is its velocity: M(q) v + g(q) - J' load.

    inner : its block of "tau"
    """

    derivatives_are_tested = True

    def __init__(self, inner: Any) -> None:
        self.inner, self.outputs = inner, inner.outputs
        self.inputs = {name: width for name, width in inner.inputs.items() if name != "a"}

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """{"tau": (nodes, n)}."""
        return self.inner.value(at_rest(u))

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return with_velocity(self.inner.partials(at_rest(u)))

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return with_velocity(self.inner.curvature(at_rest(u), adjoints))

    def pattern(self) -> Pairs:
        return with_velocity(self.inner.pattern())

    def curvature_pattern(self) -> Pairs:
        return with_velocity(self.inner.curvature_pattern())


def at_rest(u: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs of inverse dynamics: the velocity as acceleration, and none as velocity."""
    return {**u, "v": np.zeros_like(u["v"]), "a": u["v"]}


def with_velocity(pairs: Pairs) -> Pairs:
    """Derivatives by the acceleration as those by the velocity; those by the velocity at rest go."""
    kept = {pair: part for pair, part in pairs.items() if "v" not in pair}
    return {tuple("v" if name == "a" else name for name in pair): part for pair, part in kept.items()}  # type: ignore[misc]
