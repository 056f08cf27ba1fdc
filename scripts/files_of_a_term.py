"""The files whose functions run when a user's term is stated, and in one evaluation of the Hessian.

    python scripts/files_of_a_term.py

The term is a traced one of q and v, added to the two-link arm in minimum time. A program with it is built
once before, so that nothing counts that runs once per process; building it is not counted either, as it
enters most of `trajopt/transcription` with or without the term.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import problems
import trajopt
from trajopt.transcription.transcribe import transcribe

PROJECT = Path(trajopt.__file__).parents[1]
PACKAGES = [PROJECT / name for name in ("dynamics", "trajopt", "problems")]  # `.venv` may stand beside them


@trajopt.term
def swing(node: Any) -> Any:
    """A term of two leaves."""
    return node.q[0] ** 2 * node.v[1]


def entered(run: Callable[[], object]) -> set[str]:
    """Files of this project in which a function is called while `run` runs."""
    found: set[str] = set()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and any(map(file.is_relative_to, PACKAGES)):
            found.add(str(file.relative_to(PROJECT)))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return found


def main() -> None:
    for _ in range(2):  # the first time compiles and loads
        problem = problems.two_link_rr.build(intervals=10)
        stated = entered(lambda problem=problem: problem.minimize(swing))
        nlp = transcribe(problem)
        multipliers = np.ones(nlp.row_count)
        nlp.hessian(nlp.start, multipliers)
        evaluated = entered(lambda nlp=nlp, m=multipliers: nlp.hessian(nlp.start + 1e-3, m))
    for title, files in (("stating the term", stated), ("one Hessian", evaluated)):
        print(f"{title}: {len(files)} files")
        print("\n".join(f"    {file}" for file in sorted(files)))
    print(f"together: {len(stated | evaluated)} files")


if __name__ == "__main__":
    main()
