"""Attacks on verdicts: `python -m benchmarks.attacks [--share S] [FAMILY ...]`, parts of names select.

Every attack generates a problem, or a file, for which a verdict would be wrong, and judges the answer by
NumPy and SciPy alone: closed forms of optima, DOP853 led by the controls, quadrature, fine grids. *Refused*
are answers that did not converge, or whose `verify` or certificate says no, and typed errors; *right* those
that pass and are so; *silently wrong* those that pass and are not; *distrusted*, right
ones that `verify` refuses; *raw*, other exceptions. All of the families "right: ..." must be right. Other
kernels: OPENBLAS_CORETYPE=Haswell before the command.

--share S : the part of every family that is tried, 1 for about a thousand
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter

import numpy as np

from benchmarks.attacks import files, right_answers, systems
from benchmarks.attacks.judgement import Attack, Judgement
from benchmarks.shared.markdown import table
from benchmarks.shared.timing import loaded_machine
from trajopt.base.errors import TrajoptError

VERDICTS = ("right", "refused", "DISTRUSTED", "WRONG", "raw")
FAMILIES = {**systems.FAMILIES, **right_answers.FAMILIES, **files.FAMILIES}


def attacked(attack: Attack, family: str, seed: int) -> Judgement:
    """The judgement of one attack; a typed error refuses it."""
    rng = np.random.default_rng([seed, *family.encode()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return attack(rng)
        except TrajoptError as error:
            return Judgement("refused", f"{type(error).__name__}: {error}")
        except Exception as error:  # nobody told the user what is wrong
            return Judgement("raw", f"{type(error).__name__}: {error}")


def main() -> None:
    """Print what was wrong, and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    rows, began = [], time.process_time()
    for family, (attack, count) in FAMILIES.items():
        if given.families and not any(part in family for part in given.families):
            continue
        found: Counter[str] = Counter()
        for seed in range(max(1, round(given.share * count))):
            judgement = attacked(attack, family, seed)
            found[judgement.verdict] += 1
            if judgement.verdict in (VERDICTS[1:] if family in right_answers.FAMILIES else VERDICTS[2:]):
                print(f"{family}, {seed}: {judgement.what}", flush=True)
        rows.append([family, found.total(), *(found[each] for each in VERDICTS)])
        print(" | ".join(map(str, rows[-1])), flush=True)
    rows.append(["all", *(sum(row[k] for row in rows) for k in range(1, 2 + len(VERDICTS)))])
    print("\n" + table(("attack", "tried", "right", "refused", "distrusted", "silently wrong", "raw"), rows))
    print(f"\n{time.process_time() - began:.0f} s of the processor; {loaded_machine()}.")


if __name__ == "__main__":
    main()
