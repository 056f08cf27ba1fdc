"""Certificates and reports against planted violations: `python -m benchmarks.planted_violations [problems]`.

Constraints, about half of them violated, are added to random motions (`motions`) and then checked. They are
peaks narrower than any step of samples, at knots, in windows shorter than a span and on parts of arcs; steps,
holes, poles and waves; bounds of any scale; forces and curves that equations miss between nodes; bounds of
derivatives near their largest value and of the jerk across jumps; differences of neighbours, repetitions,
values at ends and durations (`peaks`, `statements`); functions with corners and steep ones, places of links
and torques under loads, bounded near their largest values (`enclosures`); integrals of bumps, hats and waves,
traced or as NumPy blocks, and costs that are integrals (`integrals`). Whether a constraint holds is computed
independently, by NumPy and compiled kernels, on a grid fifty times finer than the certificate's, a thousand
times finer around the planted feature; integrals take two million steps. An integral beyond its bound counts
as violated for as long as the shortest feature of its integrand lasts: a bump above 1/e of its height, a hat,
half a wave. Counted are

* false "proved": none may be;
* false "proved" of `verify`: violated anywhere by more than 1 % of the scale; none may be;
* false "holds, sampled": violated on an interval longer than the stated resolution; none may be;
* passed by `verify` although violated by more than 1 % of the scale (a cost: of the sum of all costs), longer
  than its samples are apart;
* dishonest: a tolerance or a scale above the size of what it is applied to;
* refused although true: where the violation is at most half of the smallest tolerance everywhere.
"""

from __future__ import annotations

import platform
import warnings
from collections import Counter
from collections.abc import Sequence

from benchmarks.planted_violations.outcomes import Outcome, outcome
from benchmarks.shared.arguments import pages, parser

SMALLEST = 3  # problems


def table(outcomes: Sequence[Outcome]) -> str:
    """The page: verdicts by kind, and what was counted; the same for the same seeds, so without times."""
    columns = ("proved", "holds, sampled", "DOES NOT HOLD")
    lines = [
        "# Planted violations",
        f"`python -m benchmarks.planted_violations {len(outcomes)} --write` writes this page "
        f"({platform.machine()}, Python {platform.python_version()}).",
        "",
        *(__doc__ or "").split("\n", 2)[2].strip().split("\n"),
        "",
        f"| planted | {' | '.join(columns)} | true | true, refused | passed by verify |",
        "| --- |" + " --- |" * (len(columns) + 3),
    ]
    counted = Counter((each.kind, each.verdict) for each in outcomes)
    for kind in dict.fromkeys(each.kind for each in outcomes):
        own = [each for each in outcomes if each.kind == kind]
        numbers = [counted[kind, verdict] for verdict in columns]
        numbers += [sum(e.true for e in own), sum(e.refused_truth for e in own), sum(e.passed for e in own)]
        lines.append(f"| {kind} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join([*lines, "", *_counts(outcomes)])


def _counts(outcomes: Sequence[Outcome]) -> list[str]:
    true = [each for each in outcomes if each.true]
    missed = [e for e in outcomes if e.verdict == "holds, sampled" and e.largest > 1.0 + 1e-6]
    longest = max((each.longest / each.resolution for each in missed), default=0.0)
    return [
        f'* false "proved": {sum(each.false_proof for each in outcomes)}',
        f'* false "proved" of `verify`: {sum(each.false_proof_of_verify for each in outcomes)}, of '
        f"{sum(each.passed and each.proved for each in outcomes)} that it proved",
        f'* false "holds, sampled": {sum(each.false_sampled for each in outcomes)}; shorter violations '
        f"missed: {len(missed)}, the longest {longest:.2f} of its resolution",
        f"* passed by `verify` although violated: {sum(each.false_pass for each in outcomes)}",
        f"* tolerance or scale dishonest: {sum(not each.honest for each in outcomes)}",
        f"* true: {len(true)}, of these refused: {sum(each.refused_truth for each in true)}",
        "* seeds of wrong verdicts: "
        + (", ".join(f"{e.seed} ({e.kind})" for e in outcomes if e.wrong) or "none"),
    ]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("problems", nargs="?", type=int, default=300)
    arguments.add_argument("--write", action="store_true", help="write the page of the documentation, too")
    given = arguments.parse_args()
    count = SMALLEST if given.smallest else given.problems
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcomes = [outcome(seed) for seed in range(count)]
    page = table(outcomes) + "\n"
    print(page)
    if given.write:
        with pages(given.smallest) as docs:
            (docs / "planted_violations.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
