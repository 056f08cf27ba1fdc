"""Attacks by files: one number of a saved solution is edited, or a part of another file takes its place.

What follows from nothing else in a file is left alone: what records the run, and what a certificate prints
"as saved". An edit is of a millionth of a number at least.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from benchmarks.attacks.judgement import Attack, Judgement, Rng
from benchmarks.published.textbook import two_phases
from problems import catalogue
from trajopt.archive.solution_archive import contents

RECORDS = {
    "iterations",
    "seconds",
    "n_variables",
    "n_constraints",
    "timings",
    "levels",
    "starts",
    "run",
    "kkt",
}
RECORDS |= {"refinement", "version", "format", "recipe", "journal"}
AS_SAVED = {"rounds", "signs", "gain", "settings", "bracket", "tolerance", "time"}  # of a certificate
TIMES_RECORDED = {"history", "solves", "scaling_rows", "scaling_objective", "t"}
ROUNDING = 1e-9  # of the largest multiplier: all of a constraint's are zero but for rounding
FACTORS = (0.0, -1.0, 0.5, 0.99, 1.0001, 1.1, 3.0, 1e9)
LOOSE = (1e-3, 1.0, 1e9)  # tolerances of a certificate of 1e-5


@functools.cache
def saved(name: str) -> dict[str, Any]:
    """The arrays of a solution, plain or certified, of a problem of the library, or of phases."""
    if name == "phases":
        return contents(trajopt.solve(two_phases(4)))
    problem, _, way = name.partition(" ")
    refine = trajopt.Certified(tol=1e-5) if way == "certified" else "auto"
    return contents(trajopt.solve(catalogue.build(problem, {"intervals": 10}), refine=refine))


BASES = (
    "double_integrator",
    "two_link_rr",
    "bryson_denham",
    "double_integrator certified",
    "two_link_rr certified",
)


def verdict_of(arrays: dict[str, Any], what: str, of_multipliers: bool = False) -> Judgement:
    """Report of a file that was edited so that every "holds" and PASS is wrong.

    of_multipliers : these were edited, of which a certificate tells nothing but what it prints "as saved"
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        np.savez(path, **arrays)
        solution = trajopt.Solution.load(path)
        certificate = solution.certificate
        if not of_multipliers and certificate is not None and certificate.holds:
            return Judgement("WRONG", f"{what}: its certificate holds")
        report = solution.verify()
    return Judgement("WRONG", f"{what}: PASS") if report.holds else Judgement("refused", what)


def numbers_of(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers in a header, but for what follows from nothing else."""
    left_out = AS_SAVED if path[:1] == ("certificate",) else RECORDS
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in left_out:
                yield from numbers_of(value, (*path, key))
    elif isinstance(content, list):
        for key, value in enumerate(content):
            yield from numbers_of(value, (*path, key))
    elif isinstance(content, float):
        yield path


def edited_header(rng: Rng) -> Judgement:
    """One number of the header is another one."""
    base = BASES[rng.integers(len(BASES))]
    arrays = dict(saved(base))
    header = json.loads(str(arrays["header"]))
    places = list(numbers_of(header))
    *way, last = places[rng.integers(len(places))]
    holder = functools.reduce(lambda content, key: content[key], way, header)
    factor = float(rng.choice(FACTORS))
    before = holder[last]
    holder[last] = before * factor if before else factor or 1.0
    if not abs(holder[last] - before) > 1e-6 * abs(before):
        return Judgement("right", f"{base}: a change that is none")
    arrays["header"] = np.array(json.dumps(header))
    return verdict_of(
        arrays, f"{base}, {'.'.join(map(str, (*way, last)))}: {before:.6g} is {holder[last]:.6g}"
    )


def edited_array(rng: Rng) -> Judgement:
    """One entry of an array, or all of it, is another number."""
    base = BASES[rng.integers(len(BASES))]
    arrays = dict(saved(base))
    names = [n for n, values in arrays.items() if values.dtype.kind == "f" and values.size]
    names = [n for n in names if n not in TIMES_RECORDED and not n.startswith("point_") and np.any(arrays[n])]
    sizes = {n: np.abs(arrays[n]).max() for n in names if n.startswith("multipliers")}
    rounding = {n for n, size in sizes.items() if size < ROUNDING * max(sizes.values())}
    names = [n for n in names if n not in rounding]
    name = names[rng.integers(len(names))]
    values = np.array(arrays[name])
    size = float(rng.choice([1e-3, 1e-2, 0.1, 1.0])) * np.abs(values).max()
    if rng.random() < 0.3:
        values *= 1.0 + size / np.abs(values).max()
    else:
        values.flat[rng.integers(values.size)] += size
    arrays[name] = values
    return verdict_of(arrays, f"{base}, {name} by {size:.2g}", name.startswith("multipliers"))


def replaced(rng: Rng) -> Judgement:
    """The certificate, the costs, the splines or the multipliers of another motion of the same problem."""
    base = BASES[rng.integers(3, len(BASES))]
    arrays, other = dict(saved(base)), dict(foreign(base, float(rng.uniform(1.02, 1.5))))
    header, theirs = (json.loads(str(each["header"])) for each in (arrays, other))
    part = str(rng.choice(["certificate", "costs", "splines", "durations", "multipliers"]))
    if part == "certificate":
        header["certificate"] = theirs["certificate"]
    elif part == "costs":
        header |= {key: theirs[key] for key in ("objective", "cost_terms")}
    else:
        begins = {"splines": "control_points", "durations": "durations", "multipliers": "multipliers"}[part]
        for name, values in other.items():
            if name.startswith(begins) and name in arrays and values.shape == arrays[name].shape:
                arrays[name] = values if part != "multipliers" else 1.5 * values
    arrays["header"] = np.array(json.dumps(header))
    return verdict_of(arrays, f"{base}, {part} of another motion", part == "multipliers")


def foreign(base: str, factor: float) -> dict[str, Any]:
    """The file of the same problem for a motion that is longer by a factor of the control points and time."""
    arrays = dict(saved(base))
    header = json.loads(str(arrays["header"]))
    header["objective"] *= factor
    header["cost_terms"] = {name: factor * value for name, value in header["cost_terms"].items()}
    certificate = header["certificate"]
    if certificate["structure"]:
        certificate["structure"]["times"] = [factor * t for t in certificate["structure"]["times"]]
    arrays["header"] = np.array(json.dumps(header))
    return arrays | {name: factor * v for name, v in arrays.items() if name[:8] in ("control_", "duration")}


def loose_certificate(rng: Rng) -> Judgement:
    """Tolerances or a time scaling that were edited, alone or together with a motion that was bent."""
    base = BASES[rng.integers(3, len(BASES))]
    arrays = dict(saved(base))
    header = json.loads(str(arrays["header"]))
    key = str(rng.choice(["tolerance", "equation_tolerance", "slowed"]))
    value = float(rng.choice(LOOSE))
    header["certificate"][key] = value
    bent = rng.random() < 0.5
    if bent:
        arrays["control_points_0"] = arrays["control_points_0"] * (1.0 + float(rng.uniform(1e-3, 0.1)))
    arrays["header"] = np.array(json.dumps(header))
    return verdict_of(arrays, f"{base}, certificate's {key} {value:.0e}{', bent' * bent}")


def edited_phases(rng: Rng) -> Judgement:
    """One entry of the motions, the objective or the links of phases is another number."""
    arrays = dict(saved("phases"))
    names = [n for n, values in arrays.items() if n.startswith("phase_") and values.dtype.kind == "f"]
    names = [n for n in names if ("control_points" in n or "durations" in n) and np.any(arrays[n])]
    name = names[rng.integers(len(names))]
    values = np.array(arrays[name])
    values.flat[rng.integers(values.size)] += float(rng.choice([1e-3, 0.05, 1.0])) * np.abs(values).max()
    arrays[name] = values
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        np.savez(path, **arrays)
        report = trajopt.PhasesSolution.load(path, two_phases(4)).verify()
    return Judgement("WRONG" if report.holds else "refused", f"phases, {name}")


FAMILIES: dict[str, tuple[Attack, int]] = {
    "edited headers": (edited_header, 80),
    "edited arrays": (edited_array, 60),
    "parts of other files": (replaced, 30),
    "loosened certificates": (loose_certificate, 30),
    "edited phases": (edited_phases, 20),
}
