"""Files and functions of the packages that run in one solve with defaults, and in one verification.

    python scripts/solve_trace.py           # the counts
    python scripts/solve_trace.py --list    # and the files

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
MOST_FILES = {"solve": 47, "verify": 52}  # of trajopt: what was reached, and a test keeps
Result = TypeVar("Result")


class Trace(NamedTuple):
    """What ran of the package trajopt, and the number of files of all packages."""

    files: list[str]
    functions: int
    files_of_all_packages: int


def traced(call: Callable[[], Result]) -> tuple[Result, Trace]:
    """The result of a call, and what of the packages ran in it."""
    ran: set[tuple[str, str]] = set()

    def profile(frame, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & CO_NEWLOCALS:  # functions, not the bodies of modules
            module = frame.f_globals.get("__name__", "")
            if module.partition(".")[0] in PACKAGES:
                ran.add((module, getattr(code, "co_qualname", code.co_name)))  # from Python 3.11 on

    sys.setprofile(profile)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    own = [each for each in ran if each[0].startswith("trajopt")]
    return result, Trace(sorted({name for name, _ in own}), len(own), len({name for name, _ in ran}))


def traces() -> dict[str, Trace]:
    """What runs in `trajopt.solve` and in `verify`, of a problem with limits that nothing has seen before."""
    trajopt.solve(two_link_rr.build()).verify()
    problem = two_link_rr.build(torque_lower=(-10.0, -9.5))
    solution, solving = traced(lambda: trajopt.solve(problem))
    _, verifying = traced(solution.verify)
    return {"solve": solving, "verify": verifying}


def main() -> None:
    """Print the counts, and the files where asked to."""
    for what, trace in traces().items():
        print(
            f"{what}: {len(trace.files)} files and {trace.functions} functions of trajopt, "
            f"{trace.files_of_all_packages} files of all packages"
        )
        if "--list" in sys.argv:
            print("  " + "\n  ".join(trace.files))


if __name__ == "__main__":
    main()
