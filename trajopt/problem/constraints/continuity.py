"""Continuity of coordinates where arcs meet, and periodicity of a motion.

At a border of arcs every coordinate and as many derivatives of it agree as the trajectory says. An impact, a
jump of one state or a torque that switches is a border at which one coordinate keeps fewer of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_count, is_whole, numbers, short_repr
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.quantities import SPLINE_LEAVES, is_extra
from trajopt.problem.costs_and_constraints import Periodicity
from trajopt.problem.input_checks import bound_of, index_of
from trajopt.splines.trajectory import Trajectory

if TYPE_CHECKING:
    from trajopt.graph.protocols.term import Term

MAY_JUMP = {-1: "its value", 0: "its rate", 1: "its acceleration"}  # the lowest derivative that does


@dataclass(frozen=True)
class LowerContinuity:
    """A coordinate that keeps `order` continuous derivatives, -1 for none and no value, at a border of arcs.

    after : the arc before the border; None for every border
    """

    coordinate: int
    order: int
    after: int | None

    def borders(self, count: int) -> slice:
        """The borders that are meant, of `count`."""
        return slice(None) if self.after is None else slice(self.after, min(self.after + 1, count))


def lower_continuity(
    names: Sequence[str], trajectory: Trajectory, coordinate: Any, order: Any, after: Any
) -> LowerContinuity:
    """The value of a call of `Problem.continuity`; see there, also for errors."""
    number, highest = index_of(coordinate, names, "coordinate"), trajectory.continuity - 1
    if not is_whole(order) or not -1 <= order <= highest:
        known = " or ".join(f"{k} ({MAY_JUMP[k]} may jump)" for k in range(-1, highest + 1))
        raise OptionError(
            f"the continuity of '{coordinate}' is {short_repr(order)}, but where arcs meet the trajectory "
            f"has {trajectory.continuity}, and only less can be asked for: use {known}"
        )
    if after is not None:
        check_count("after, the number of the arc before the border", after)
    found = LowerContinuity(number, int(order), None if after is None else int(after))
    check_borders(trajectory, [found])
    return found


def check_borders(trajectory: Trajectory, given: Iterable[LowerContinuity]) -> None:
    """OptionError where a lower continuity is given for a border that the trajectory does not have."""
    count = len(trajectory.arcs) - 1
    for each in given:
        if not count:
            raise OptionError(
                "the continuity of a coordinate is given for borders of arcs; the trajectory has one arc: "
                "cut it where it may jump, Trajectory((arc, arc)) or "
                "Trajectory.collocation(intervals, order, arcs=2)"
            )
        if each.after is not None and each.after >= count:
            raise OptionError(
                f"after is {each.after}, but borders follow arcs 0 to {count - 1} of the {count + 1} arcs"
            )


def periodicity_of(
    term: Term, width: int, signs: ArrayLike, order: ArrayLike | None, offset: ArrayLike, label: str
) -> Periodicity:
    """term(T)_i = signs_i * term(0)_order(i) + offset_i; ShapeError or OptionError where it cannot be."""
    given = np.arange(width) if order is None else numbers(order, f"the order of '{label}'")
    if given.shape != (width,) or sorted(given.tolist()) != list(range(width)):
        raise ShapeError(
            f"the order of '{label}' is {short_repr(given.tolist())}: give each of 0 .. {width - 1} once"
        )
    places = given.astype(np.int64)
    mixed = bool(np.any(places != np.arange(width)))
    if mixed and term.quantity not in SPLINE_LEAVES and not is_extra(term.quantity):
        raise OptionError(
            f"'{label}' reorders components, which only q, v and additional curves can: reorder inside"
        )
    factors, further = bound_of(signs, 1.0, width, label), bound_of(offset, 0.0, width, label)
    return Periodicity(term, factors, places, further, label, np.arange(width))
