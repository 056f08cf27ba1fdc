"""Certified optima of the library's problems: `python -m benchmarks.certified`.

Duration, switches, certificate and seconds of every problem that bounds torques or velocities; what could not
be certified, and why; a second opinion by shooting on switch times; the diagnosis of an infeasible and of a
badly scaled problem. Writes the measured parts of docs/certified.md; with `--rows TEXT` only the rows whose
names contain the text, and prints their certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import trajopt
from benchmarks.certified.bracket_coverage import coverage
from benchmarks.certified.cases import cases
from benchmarks.certified.measurement import measured
from benchmarks.certified.page import coverage_row, covered, diagnoses, table
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import between_marks, with_row, with_section

SMALLEST = "sliding_mass (0.4 s exactly)"
SHOWN = ("three_link_arm", "three links under gravity")  # whose certificates the page holds


def rewrite_rows(path: Path, text: str, coverage_alone: bool) -> None:
    """Measure the rows whose names contain a text, and replace them in the page."""
    for name, build in cases().items():
        if text not in name:
            continue
        if coverage_alone:
            known = coverage(name, build)
            rows, certificate = [] if known is None else [coverage_row(known)], None
        else:
            cells, certificate = measured(name, build)
            rows = [f"| {' | '.join(cells)} |"]
        page = path.read_text()
        for row in rows:
            print(row, flush=True)
            page = with_row(page, row)
        print(certificate or "", flush=True)
        path.write_text(with_certificate(page, name, certificate))


def with_certificate(page: str, name: str, certificate: str | None) -> str:
    """The page with a certificate that it holds replaced."""
    if certificate is None or name not in SHOWN:
        return page
    return with_section(page, name, f"```\n{certificate}\n```")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--diagnosis", action="store_true", help="print the two diagnoses, write nothing")
    arguments.add_argument("--rows", metavar="TEXT", help="only rows whose names contain this; others stay")
    arguments.add_argument("--coverage", action="store_true", help="with --rows: of known optima alone")
    given = arguments.parse_args()
    if given.diagnosis:
        print(diagnoses())
        return
    with pages(given.smallest) as docs:
        if given.rows is not None:
            rewrite_rows(docs / "certified.md", given.rows, given.coverage)
        else:
            chosen = {SMALLEST: cases()[SMALLEST]} if given.smallest else cases()
            rewrite(docs / "certified.md", chosen)


def rewrite(path: Path, chosen: Mapping[str, Callable[[], trajopt.Problem]]) -> None:
    """Measure problems, and replace the measured parts of the page by them."""
    rows, page = [], path.read_text()
    for name, build in chosen.items():
        cells, certificate = measured(name, build)
        rows.append(f"| {' | '.join(cells)} |")
        page = with_certificate(page, name, certificate)
        print(rows[-1], flush=True)
    parts = {"optima": table(rows), "brackets": covered(chosen), "diagnosis": diagnoses()}
    for part, content in parts.items():
        page = between_marks(page, part, content)
        print(content)
    path.write_text(page)


if __name__ == "__main__":
    main()
