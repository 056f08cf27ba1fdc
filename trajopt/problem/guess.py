"""First guesses: the curve and durations that a solve starts from, of numbers, samples or a known motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import finite_numbers, implements, numbers
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError
from trajopt.problem.constraints.coordinate_bounds import warn_of_degrees
from trajopt.splines.basis import Curve

GuessedCurve = Callable[[Any], Any]  # normalised times (k,) -> (k, n), or with the additional curves


@runtime_checkable
class Motion(Protocol):
    """A known motion that a guess can be taken from; a `Solution` is one.

    extra_widths : additional curve -> its width, in their order behind the joints; None where unknown
    """

    @property
    def curve(self) -> Curve: ...

    @property
    def joint_names(self) -> tuple[str, ...]: ...

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]: ...

    @property
    def extra_widths(self) -> Mapping[str, int] | None: ...


@dataclass(frozen=True, eq=False)
class MotionGuess:
    """The first `carried` curves of a known motion, by normalised time."""

    curve: Curve
    carried: int

    def __call__(self, s: ArrayLike) -> NDArray[np.float64]:
        return self.curve.at_progress(s)[..., : self.carried]


@dataclass(frozen=True, eq=False)
class SampledGuess:
    """Even samples (k, n) over normalised time, linear in between."""

    samples: NDArray[np.float64]

    def __call__(self, s: ArrayLike) -> NDArray[np.float64]:
        at, times = np.linspace(0.0, 1.0, self.samples.shape[0]), np.asarray(s, dtype=float)
        return np.stack([np.interp(times, at, column) for column in self.samples.T], axis=-1)


def start_from(problem: Any, q: Any, x: Any, duration: ArrayLike | None) -> None:
    """Give a problem the guess q, or x of a system; see `Problem.guess`."""
    if q is not None and x is not None:
        raise OptionError("q and x are both guessed: x are the states of a system, q joints")
    q = x if q is None else q
    if isinstance(q, type(problem)):
        _start_from_problem(problem, q, duration)
        return
    arcs, problem.starts, problem.earlier = len(problem.trajectory.arcs), 1, None
    if implements(q, Motion) and not isinstance(q, type):
        names, known = _same_joints(problem, q.joint_names, "solution"), q.extra_widths
        same = known is not None and list(known.items()) == list(problem.extra_widths.items())
        problem.guessed_curve = MotionGuess(q.curve, q.curve.n if same else len(names))
        problem.guessed_durations = durations_of_motion(q, arcs, duration)
        for name, value in q.parameters.items():
            own = problem.parameters.get(name)
            if own is not None and own.guess.shape == np.shape(value):
                problem.parameters[name] = replace(own, guess=np.array(value))
        return
    durations = None if duration is None else durations_of(duration, arcs)
    curve = problem.guessed_curve if q is None else curve_of(q, problem.dynamics.n)
    if isinstance(curve, SampledGuess):
        warn_of_degrees(problem.dynamics, "the guess", curve.samples)
    problem.guessed_curve, problem.guessed_durations = curve, durations


def _start_from_problem(problem: Any, earlier: Any, duration: ArrayLike | None) -> None:
    """Let the solution of an earlier problem be the guess; see `Problem.guess`."""
    if duration is not None:
        raise OptionError("durations are those of the earlier problem's solution: leave out duration")
    _same_joints(problem, tuple(earlier.dynamics.joint_names), "earlier problem")
    before = earlier
    while before is not None:
        if before is problem:
            raise OptionError("a problem cannot start from itself: give an easier one, built by itself")
        before = before.earlier
    problem.starts, problem.earlier = 1, earlier
    if problem.guessed_curve is None:
        problem.guessed_curve = earlier.guessed_curve


def _same_joints(problem: Any, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The names of the joints of a problem; ShapeError where those of its guess are others."""
    own = tuple(problem.dynamics.joint_names)
    if names != own:
        raise ShapeError(
            f"the {what} moves {', '.join(names)} but the problem {', '.join(own)}: "
            "give a guess for these joints"
        )
    return own


def durations_of_motion(motion: Motion, arcs: int, duration: ArrayLike | None = None) -> NDArray[np.float64]:
    """Arc by arc where a motion has as many arcs, else in equal parts, (arcs,) seconds.

    duration : seconds to take instead: of every arc, or of the whole motion, whose arcs keep their shares
    """
    own = motion.curve.durations
    kept = durations_of(own if own.size == arcs else motion.curve.duration, arcs)
    if duration is None:
        return kept
    wanted = durations_of(duration, arcs)
    return kept * (wanted.sum() / kept.sum()) if np.ndim(duration) == 0 else wanted


def curve_of(q: Any, n: int) -> GuessedCurve:
    """A curve q(s) as it is, or the one through even samples (k, n), linear in between."""
    if callable(q):
        return q
    samples = finite_numbers(q, "the guess")
    if samples.ndim != 2 or samples.shape[1] != n or samples.shape[0] < 2:
        raise ShapeError(
            f"the guess has shape {samples.shape} but needs (samples, {n}): rows are evenly spaced times"
        )
    return SampledGuess(samples)


def durations_of(duration: ArrayLike, arcs: int) -> NDArray[np.float64]:
    """Seconds per arc, (arcs,), of one number for the whole motion or one per arc."""
    seconds = numbers(duration, "the guessed duration")
    if not np.all(np.isfinite(seconds) & (seconds > 0.0)):
        raise NotFiniteError(f"the guessed duration is {duration}: give a positive number of seconds")
    if seconds.shape not in ((), (arcs,)):
        raise ShapeError(f"the guessed durations have shape {seconds.shape} but there are {arcs} arcs")
    return np.full(arcs, seconds / arcs) if seconds.ndim == 0 else seconds
