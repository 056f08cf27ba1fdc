"""Files and functions of the packages that run in one solve with defaults, and in one verification.

    python scripts/solve_trace.py           # the counts
    python scripts/solve_trace.py --list    # and the files

A stop of the problem, or of the solution, is a function of trajopt that has it among its arguments.

The problem is the two-link arm in minimum time, after one solve of another one, so that imports and the
compilation of kernels are not counted. A test keeps the counts below those of `docs/architecture.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_NEWLOCALS
from typing import NamedTuple, TypeVar

import trajopt
from problems import two_link_rr

PACKAGES = ("trajopt", "dynamics", "problems")
MOST_FILES = {"solve": 44, "verify": 46}  # of trajopt: what was reached, and a test keeps
Result = TypeVar("Result")


class Trace(NamedTuple):
    """Files of trajopt that ran, the number of files of all packages, and the stops of an object."""

    files: list[str]
    functions: int
    files_of_all_packages: int
    stops: int
    files_of_stops: int


def traced(call: Callable[[], Result], followed: object) -> tuple[Result, Trace]:
    """The result of a call, and what of the packages ran in it.

    followed : the object whose stops are counted
    """
    ran: set[tuple[str, str]] = set()
    stops: set[tuple[str, str]] = set()

    def profile(frame, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & CO_NEWLOCALS:  # functions, not the bodies of modules
            module = frame.f_globals.get("__name__", "")
            if module.partition(".")[0] in PACKAGES:
                name = module, getattr(code, "co_qualname", code.co_name)  # from Python 3.11 on
                ran.add(name)
                given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                if any(frame.f_locals.get(each) is followed for each in given):
                    stops.add(name)

    sys.setprofile(profile)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    own, passed = ([each for each in some if each[0].startswith("trajopt")] for some in (ran, stops))
    files, of_stops = ({name for name, _ in some} for some in (own, passed))
    every = {name for name, _ in ran}
    return result, Trace(sorted(files), len(own), len(every), len(passed), len(of_stops))


def traces() -> dict[str, Trace]:
    """Files that run in `trajopt.solve` and in `verify`, of a problem with limits that is new to both."""
    trajopt.solve(two_link_rr.build()).verify()
    problem = two_link_rr.build(torque_lower=(-10.0, -9.5))
    solution, solving = traced(lambda: trajopt.solve(problem), problem)
    _, verifying = traced(solution.verify, solution)
    return {"solve": solving, "verify": verifying}


def main() -> None:
    """Print the counts, and the files where asked to."""
    for what, trace in traces().items():
        print(
            f"{what}: {len(trace.files)} files and {trace.functions} functions of trajopt, "
            f"{trace.files_of_all_packages} files of all packages; "
            f"{trace.stops} stops in {trace.files_of_stops} files"
        )
        if "--list" in sys.argv:
            print("  " + "\n  ".join(trace.files))


if __name__ == "__main__":
    main()
