"""Command line of the fuzzer: `python -m tests.fuzz --minutes 10`."""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tests.fuzz.judging import JudgingProcess
from tests.fuzz.targets import TARGETS
from tests.fuzz.verdicts import Judgement, Verdict, table

CASES = Path(__file__).parent / "cases"
KEPT = 40  # new cases of one target and one run


def main() -> int:
    arguments = _parser().parse_args()
    chosen = [target for target in TARGETS if not arguments.targets or target.name in arguments.targets]
    counts: dict[str, Counter[Verdict]] = {}
    for i, target in enumerate(chosen):
        target.prepare()
        rng = np.random.default_rng([arguments.seed, *target.name.encode()])
        seconds = 60.0 * arguments.minutes / len(chosen)
        counts[target.name] = _run(target, rng, seconds, arguments.mutants)
        print(f"{i + 1} of {len(chosen)}\n{table(counts)}\n", flush=True)
    return int(any(verdict.is_fault for found in counts.values() for verdict in found))


def _run(target, rng: np.random.Generator, seconds: float, most: int | None) -> Counter[Verdict]:
    """Judge mutants until the time or the number is reached; faults of a new kind are kept as cases."""
    counts: Counter[Verdict] = Counter()
    known: set[str] = set()
    process, deadline = JudgingProcess(target), time.monotonic() + seconds
    try:
        while time.monotonic() < deadline and (most is None or counts.total() < most):
            data = target.mutant(rng)
            judgement = process.judge(data)
            counts[judgement.verdict] += 1
            kind = _kind(judgement)
            if judgement.verdict.is_fault and kind not in known and len(known) < KEPT:
                known.add(kind)
                path = _keep(target, data)
                print(f"{target.name}: {judgement.verdict.value}, kept as {path.name}\n{judgement.detail}\n")
    finally:
        process.close()
    return counts


def _kind(judgement: Judgement) -> str:
    """Verdict, and the last lines of a traceback without its numbers, which faults of one cause share."""
    lines = judgement.detail.strip().split("\n")[-3:]
    return judgement.verdict.value + "".join(c for c in "".join(lines) if not c.isdigit())


def _keep(target, data: bytes) -> Path:
    folder = CASES / target.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}{target.suffix}"
    path.write_bytes(data)
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="divided among the targets [10]")
    parser.add_argument("--mutants", type=int, default=None, help="of each target at most")
    parser.add_argument("--seed", type=int, default=0, help="other mutants for another seed [0]")
    names = ", ".join(target.name for target in TARGETS)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all where none is named: {names}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
