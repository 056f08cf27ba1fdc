"""Saved solutions and checkpoints: .npz files whose bytes, arrays and headers are changed.

Silently wrong is a solution that loads with another motion than SciPy's splines give for the control points
in the file, or whose verdict is PASS although its motion, objective or costs are not those of the closed form
of the problem that the file names; and a solve from a checkpoint that converges elsewhere. What records the
run alone (iterations, seconds, versions, the table of iterations) follows from nothing and is not judged.
"""

from __future__ import annotations

import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

import trajopt
from problems import catalogue
from tests.fuzz.closed_forms import check_optimum
from tests.fuzz.mutations import mutated_bytes, mutated_text, pick
from tests.fuzz.robots import mutate_entry
from tests.fuzz.verdicts import Mismatch

SAME = 1e-9  # relative: two evaluations of one spline
OPTIMUM = 1e-6  # relative: two solves of one problem


class SolutionTarget:
    """Saved solutions: plain, with states, certified, and one that did not converge."""

    name, suffix = "solutions", ".npz"

    def prepare(self) -> None:
        def solved(name: str, **options: Any) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "seed.npz"
                trajopt.solve(catalogue.build(name, {}), **options).save(path)
                return path.read_bytes()

        short = trajopt.Ipopt(max_iterations=3)
        self.seeds = [
            solved("minimum_acceleration"),
            solved("bryson_denham"),
            solved("double_integrator", refine=trajopt.Certified(tol=1e-6)),
            solved("double_integrator", solver=short),
        ]

    def mutant(self, rng: np.random.Generator) -> bytes:
        return mutated_archive(rng, pick(rng, self.seeds))

    def check(self, data: bytes) -> None:
        path = Path("solution.npz")
        path.write_bytes(data)
        solution = trajopt.Solution.load(path)
        with np.load(path) as arrays:
            header = json.loads(str(arrays["header"]))
            check_motion(solution, arrays, header)
        str(solution), repr(solution)
        report = solution.verify()
        report.table, str(solution.certificate), json.dumps(report.summary())
        if report.holds:
            check_claims(solution, header)


def check_motion(solution: Any, arrays: Any, header: dict[str, Any]) -> None:
    """The motion is that of SciPy's splines through the file's own control points."""
    starts = np.concatenate([[0.0], np.cumsum(arrays["durations"])])
    for i, degree in enumerate(header["degrees"]):
        points, breakpoints = arrays[f"control_points_{i}"], arrays[f"breakpoints_{i}"]
        inner = np.repeat(breakpoints[1:-1], arrays[f"multiplicities_{i}"])
        knots = np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])
        s = np.linspace(0.05, 0.95, 7)
        expected = BSpline(knots, points.astype(float), degree)(s)[:, : len(header["joint_names"])]
        duration = starts[i + 1] - starts[i]
        found = solution.q(starts[i] + duration * s)
        size = float(np.abs(points.astype(float)).max(initial=1e-300))
        slope = size * float(points.shape[0]) ** 2 * np.spacing(starts[-1]) / duration  # times are rounded
        near = np.abs(s[:, None] - breakpoints).min(axis=1) > 1e-6  # where it jumps, both sides are right
        if not np.all(np.abs(found - expected)[near] <= SAME * size + slope):
            raise Mismatch("the motion is not that of the control points in the file")


def check_claims(solution: Any, header: dict[str, Any]) -> None:
    """A verdict of PASS: the problem that the file names, its optimum, and costs that add up to it."""
    recipe = header["recipe"]
    total = sum(header["cost_terms"].values())
    if not np.isclose(header["objective"], total, rtol=1e-6, atol=0.0):
        raise Mismatch(f"objective {header['objective']}, costs {total}")
    if recipe is not None:
        duration = float(solution.duration)
        check_optimum(
            recipe["problem"],
            recipe["parameters"],
            header["objective"],
            duration,
            lambda t: solution.q(t)[:, 0],
        )


class CheckpointTarget:
    """Checkpoints of a minimum-time problem, from which its solve starts again."""

    name, suffix = "checkpoints", ".npz"

    def prepare(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "seed.ckpt"
            self.optimum = self._solved(path).objective
            self.seeds = [path.read_bytes()]

    def _solved(self, path: Path) -> Any:
        problem = catalogue.build("double_integrator", {"intervals": 4})
        solver = trajopt.Checkpointed(trajopt.Ipopt(max_iterations=200), path)
        return trajopt.solve(problem, solver, coarse_to_fine=False)

    def mutant(self, rng: np.random.Generator) -> bytes:
        return mutated_archive(rng, pick(rng, self.seeds))

    def check(self, data: bytes) -> None:
        path = Path("point.npz")
        path.write_bytes(data)
        solution = self._solved(path)
        if solution.converged and abs(solution.objective - self.optimum) > OPTIMUM * self.optimum:
            raise Mismatch(f"it converged to {solution.objective}, the optimum is {self.optimum}")


# -- mutations of .npz archives ---------------------------------------------------------------------------


def mutated_archive(rng: np.random.Generator, data: bytes) -> bytes:
    """The archive with changed bytes, or with members changed, left out, repeated, renamed or enlarged."""
    if rng.random() < 0.15:
        return mutated_bytes(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(int(rng.integers(1, 3))):
        i = 0 if rng.random() < 0.35 else int(rng.integers(len(members)))
        members = pick(rng, _MEMBER_MUTATIONS)(rng, members, i)
        if not members:
            break
    stream = io.BytesIO()
    packing = zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", packing) as archive:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in members:
            with archive.open(zipfile.ZipInfo(name), "w") as member:
                member.write(content)
    return stream.getvalue()


Members = list[tuple[str, bytes]]


def _content(rng: np.random.Generator, members: Members, i: int) -> Members:
    """Another value of the array, or of the header's JSON."""
    name, data = members[i]
    try:
        array = np.load(io.BytesIO(data))
        kind = array.dtype.kind
        with np.errstate(all="ignore"):
            changed = _text(rng, str(array)) if kind == "U" else pick(rng, _ARRAY_MUTATIONS)(rng, array)
    except Exception:  # it was changed before, and is no array of numbers any more
        return members
    stream = io.BytesIO()
    np.save(stream, changed, allow_pickle=True)
    return [*members[:i], (name, stream.getvalue()), *members[i + 1 :]]


def _text(rng: np.random.Generator, text: str) -> np.ndarray:
    try:
        content = json.loads(text)
    except ValueError:
        return np.array(mutated_text(rng, text))
    if rng.random() < 0.2:
        return np.array(mutated_text(rng, text))
    for _ in range(int(rng.integers(1, 3))):
        mutate_entry(rng, content)
    return np.array(json.dumps(content))


def _left_out(rng: np.random.Generator, members: Members, i: int) -> Members:
    return [*members[:i], *members[i + 1 :]]


def _renamed(rng: np.random.Generator, members: Members, i: int) -> Members:
    name = pick(rng, [other for other, _ in members] + ["../x.npy", "/etc/x", "", "x" * 300])
    return [*members[:i], (name, members[i][1]), *members[i + 1 :]]


def _repeated(rng: np.random.Generator, members: Members, i: int) -> Members:
    return [*members, members[i]]


def _swapped(rng: np.random.Generator, members: Members, i: int) -> Members:
    """The content of another member."""
    return [*members[:i], (members[i][0], pick(rng, members)[1]), *members[i + 1 :]]


def _broken(rng: np.random.Generator, members: Members, i: int) -> Members:
    """Bytes changed inside a member, whose check sum fits."""
    name, data = members[i]
    return [*members[:i], (name, mutated_bytes(rng, data) if data else b"x"), *members[i + 1 :]]


def _header(rng: np.random.Generator, members: Members, i: int) -> Members:
    """Another shape or kind told by the first bytes of the array."""
    name, data = members[i]
    old = pick(rng, [b"<f8", b"<i8", b"False", b"(", b")", b",", b"1", b"<U"])
    new = pick(rng, [b">f8", b"<f4", b"|i1", b"|O ", b"<M8", b"<c8", b"True ", b"9", b"-1", b"(9", b"10**9"])
    return [*members[:i], (name, data[:128].replace(old, new, 1) + data[128:]), *members[i + 1 :]]


_MEMBER_MUTATIONS = (
    *(_content,) * 10,
    _left_out,
    _renamed,
    _repeated,
    _swapped,
    _broken,
    _header,
)


def _one_entry(value: Callable[[np.random.Generator, float], float]) -> Callable[..., np.ndarray]:
    def changed(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
        found = np.array(array)
        if found.size and found.dtype.kind in "fiu":
            place = int(rng.integers(found.size))
            with np.errstate(all="ignore"):
                found.flat[place] = np.array(value(rng, float(found.flat[place]))).astype(found.dtype)
        return found

    return changed


_NASTY = (0.0, -1.0, 1.0, 1e-300, 1e300, 1e20, -1e20, 1e9, float("nan"), float("inf"), -float("inf"))
_ARRAY_MUTATIONS: tuple[Callable[..., np.ndarray], ...] = (
    *(_one_entry(lambda rng, x: pick(rng, _NASTY)),) * 3,
    *(_one_entry(lambda rng, x: x * (1.0 + 10.0 ** rng.integers(-8, 1) * rng.normal())),) * 4,
    *(_one_entry(lambda rng, x: x + 10.0 ** rng.integers(-8, 3) * rng.normal()),) * 3,
    lambda rng, array: array * float(rng.normal()),
    lambda rng, array: array + float(rng.normal()),
    lambda rng, array: array[::-1].copy() if array.ndim else array,
    lambda rng, array: array[..., :-1] if array.ndim and array.shape[-1] else array,
    lambda rng, array: np.concatenate([array, array]) if array.ndim else array,
    lambda rng, array: np.repeat(array.ravel()[:1], 10 ** int(rng.integers(3, 7))),
    lambda rng, array: array.reshape(-1),
    lambda rng, array: array.reshape(1, *array.shape),
    lambda rng, array: array.T.copy(),
    lambda rng, array: array.astype(pick(rng, ["f4", "i8", "u1", "c16", "U8", "M8[s]", "?", "O", "f2"])),
    lambda rng, array: np.zeros((0, *array.shape[1:])),
    lambda rng, array: np.zeros((1, 0)),
)
