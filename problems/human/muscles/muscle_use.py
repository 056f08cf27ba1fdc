"""Muscles in a solved motion: activations, forces, fibres and reserves over time, and faults of them.

Reserves are judged as Hicks and others (Journal of Biomechanical Engineering 137(2), 2015) recommend: below
5 % of the largest moment of their joint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

import trajopt
from dynamics.muscles.fibres import Fibres, FibreState
from dynamics.muscles.metabolic_power import Law, metabolic_power
from dynamics.muscles.motion_block import PathMotion
from problems.human.muscles.given_motion import (
    ACTIVATION,
    EXCITATION,
    FASTEST_TENDON,
    RESERVE,
    STRONGEST_TENDON,
    TENDON_FORCE,
    TENDON_RATE,
    GivenMotion,
)
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.arguments import list_names
from trajopt.base.errors import OptionError

LARGE_RESERVE = 0.05  # of the largest moment of the joint
SAMPLES_PER_NODE = 2
SATURATED = 0.99  # activation above which a muscle is said to be fully active
TOLERANCE, RIGID_TOLERANCE = 1e-6, 1e-3


@dataclass(frozen=True, eq=False)
class MuscleUse:
    """Muscles over the times (K,) s of a motion.

    excitation, activation : (K, m);  force : (K, m) N, along the tendon
    fibre : lengths, speeds and forces of the fibres
    coordinates : (c,) names;  moment : (K, c) N m or N, wanted;  reserve : (K, c), of it not by muscles
    arms : (K, m, c) m, 1 for a coordinate in m;  missed : (K, c), of the moments at these times by neither
    """

    solution: trajopt.Solution
    fibres: Fibres
    time: np.ndarray
    excitation: np.ndarray
    activation: np.ndarray
    force: np.ndarray
    fibre: FibreState
    coordinates: tuple[str, ...]
    moment: np.ndarray
    reserve: np.ndarray
    arms: np.ndarray
    missed: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """(m,) of the muscles."""
        return self.fibres.names

    def of(self, muscle: str) -> int:
        """The place of a muscle; OptionError for a name that none has."""
        if muscle not in self.names:
            raise OptionError(f"there is no muscle '{muscle}': there are {list_names(self.names)}")
        return self.names.index(muscle)

    def metabolic_power(self, law: Law = "bhargava", slow: ArrayLike = 0.5) -> np.ndarray:
        """(K, m) W of every muscle, by one of two laws, see `dynamics.muscles.metabolic_power`.

        slow : share of slow-twitch fibres, of all muscles or (m,)
        """
        return metabolic_power(self.fibres, self.fibre, self.excitation, self.activation, law, slow)

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about reserves that are large and fibres beyond their curves; empty where all is well."""
        fibre = self.fibre
        return (*self._reserves(), *self.fibres.beyond_curves(fibre.normal_length, fibre.cosine, self.time))

    def _reserves(self) -> Iterator[str]:
        """Joints that the muscles cannot drive, with the time and size of the largest reserve."""
        for i, name in enumerate(self.coordinates):
            most = LARGE_RESERVE * np.abs(self.moment[:, i]).max()
            size = np.abs(self.reserve[:, i])
            if size.max() > most:
                at = int(size.argmax())
                yield (
                    f"the muscles cannot give the moment of '{name}': the reserve reaches {size[at]:.3g} at "
                    f"{self.time[at]:.4g} s, above 5 % of its largest moment, {most / LARGE_RESERVE:.3g}"
                )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write states and controls as OpenSim's Moco does, a .sto that `MocoTrajectory` reads."""
        pulls = None
        if TENDON_FORCE in self.solution.problem.dynamics.states:  # type: ignore[attr-defined]
            pulls = self.force / self.fibres.max_isometric_force
        activation, excitation = (Columns(self.names, x) for x in (self.activation, self.excitation))
        reserve = Columns(self.coordinates, self.reserve)
        write_states(path, self.time, activation, excitation, reserve, pulls)

    def write_forces(self, path: str | os.PathLike[str]) -> None:
        """Write forces along tendons, N, and fibre lengths, optimal lengths, as a .sto."""
        columns = {f"{n}|tendon_force": x for n, x in zip(self.names, self.force.T, strict=True)}
        columns |= {
            f"{n}|normalized_fiber_length": x
            for n, x in zip(self.names, self.fibre.normal_length.T, strict=True)
        }
        write_storage(path, Storage("forces of muscles", self.time, columns))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        solution = self.solution
        yield (
            f"{solution.status}: objective {solution.objective:.6g}, {solution.iterations} iterations, "
            f"{len(self.names)} muscles, {self.time[0]:.4g} to {self.time[-1]:.4g} s"
        )
        width = max(map(len, self.coordinates))
        yield f"{'coordinate':<{width}}  {'largest moment':>14}  {'largest reserve':>15}"
        for i, name in enumerate(self.coordinates):
            moment, reserve = np.abs(self.moment[:, i]).max(), np.abs(self.reserve[:, i]).max()
            yield f"{name:<{width}}  {moment:>14.4g}  {reserve:>15.3g}"
        power = np.trapezoid(self.metabolic_power().sum(axis=1), self.time) / (self.time[-1] - self.time[0])
        yield f"mean metabolic power of the muscles by Bhargava and others 2004: {power:.4g} W"
        full = [n for n, a in zip(self.names, self.activation.T, strict=True) if a.max() > SATURATED]
        if full:
            yield f"fully active at some time: {list_names(full)}"
        yield f"between the nodes moments are missed by at most {np.abs(self.missed).max():.2g} N m or N"
        yield from self.problems


class Columns(NamedTuple):
    """Names, and values over time (K, names)."""

    names: tuple[str, ...]
    values: np.ndarray


def write_states(
    path: str | os.PathLike[str],
    time: np.ndarray,
    activation: Columns,
    excitation: Columns,
    reserve: Columns,
    pulls: np.ndarray | None = None,
) -> None:
    """Write states and controls of muscles as OpenSim's Moco does, a .sto that `MocoTrajectory` reads.

    pulls : (K, m) tendon forces in largest ones, of compliant tendons
    """
    names = activation.names
    states = {f"/forceset/{n}/activation": x for n, x in zip(names, activation.values.T, strict=True)}
    if pulls is not None:
        states |= {f"/forceset/{n}/normalized_tendon_force": x for n, x in zip(names, pulls.T, strict=True)}
    controls = {f"/forceset/{n}": x for n, x in zip(excitation.names, excitation.values.T, strict=True)}
    controls |= {f"/forceset/reserve_{n}": x for n, x in zip(reserve.names, reserve.values.T, strict=True)}
    counts = {
        "num_controls": len(controls), "num_derivatives": 0, "num_input_controls": 0,
        "num_multipliers": 0, "num_parameters": 0, "num_slacks": 0, "num_states": len(states),
    }  # fmt: skip
    write_storage(path, Storage("muscles of a motion", time, states | controls), counts)


def muscle_use(motion: GivenMotion, solution: trajopt.Solution) -> MuscleUse:
    """The muscles in a solution of `motion.problem`, at even times, two for every node of its mesh."""
    time, block = even_times(solution), motion.block
    length, speed, arms, moment = (values[0] for values in block.paths(time))
    spread = np.zeros((time.size, block.m, block.c))
    spread[:, block.muscle, block.coordinate] = arms
    return use_along(motion, solution, PathMotion(time, length, speed, spread, moment), motion.coordinates)


def even_times(solution: trajopt.Solution) -> np.ndarray:
    """(K,) s, two times for every node of the mesh."""
    count = SAMPLES_PER_NODE * len(solution.problem.trajectory.nodes.s)
    return np.linspace(0.0, solution.duration, count + 1)


def use_along(
    motion: GivenMotion, solution: trajopt.Solution, along: PathMotion, reserved: tuple[str, ...]
) -> MuscleUse:
    """The muscles in a solution, by their paths at its own times; reserved : coordinates of its reserves."""
    fibres, time = motion.fibres, along.time

    def curve(name: str) -> np.ndarray:
        return np.reshape(solution.value(trajopt.state(name), time), (time.size, -1))

    activation, reserve = curve(ACTIVATION), curve(RESERVE)
    reserve = reserve[:, [reserved.index(name) for name in motion.coordinates]]
    given = [along.length, along.speed, activation]
    if motion.tendon == "compliant":
        given += [curve(TENDON_FORCE), curve(TENDON_RATE)]
        force = fibres.max_isometric_force * given[3]
    else:
        force = fibres.force("rigid", *given, order=0).value
    missed = along.moment - np.einsum("km,kmc->kc", force, along.arms) - reserve
    return MuscleUse(
        solution, fibres, time + motion.start, curve(EXCITATION), activation, force,
        fibres.state(motion.tendon, *given), motion.coordinates, along.moment, reserve, along.arms, missed,
    )  # fmt: skip


def solve_muscles(motion: GivenMotion, tol: float = TOLERANCE) -> MuscleUse:
    """The muscles of a motion with the least cost.

    One solve on the mesh as it is, as a coarse one knows nothing better; compliant tendons start from the
    answer of rigid ones. Terms that were added to `motion.problem` count. For other solvers call
    `trajopt.solve` and `muscle_use`.
    """
    problem = motion.problem
    if motion.rigid is not None:
        problem = problem.on(problem.trajectory)
        unknowns = (ACTIVATION, TENDON_FORCE, EXCITATION, RESERVE, TENDON_RATE)
        problem.guess(guess_near(solve_muscles(motion.rigid, RIGID_TOLERANCE), unknowns))
    solver = trajopt.Ipopt(tol=tol)
    return muscle_use(motion, trajopt.solve(problem, solver, refine=None, starts=1, coarse_to_fine=False))


def guess_near(
    use: MuscleUse, names: Iterable[str], **others: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """A curve over shares of the motion of these states and controls; others : (K, width) in their place."""
    pull = np.clip(use.force / use.fibres.max_isometric_force, 0.0, STRONGEST_TENDON)
    rate = np.clip(np.gradient(pull, use.time, axis=0), -FASTEST_TENDON, FASTEST_TENDON)
    known = {
        ACTIVATION: use.activation, TENDON_FORCE: pull, EXCITATION: use.excitation, RESERVE: use.reserve,
        TENDON_RATE: rate, **others,
    }  # fmt: skip
    columns = np.hstack([known[name] for name in names])
    return make_interp_spline((use.time - use.time[0]) / (use.time[-1] - use.time[0]), columns, k=1)
