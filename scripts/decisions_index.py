"""Writes docs/decisions.md, the index of the decisions by topic: one line for every record, with its date.

A record is a paragraph of a file in docs/decisions that begins `**Question?** (2026-11-28)`.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
RECORD = re.compile(r"^\*\*(?P<question>.+?)\*\* \((?P<date>\d{4}-\d\d-\d\d)\)", re.MULTILINE)

HEAD = """# Decisions
Choices that a maintainer could undo by mistake, by topic, one line each with its date. A record has a \
question, the decision, its measurement, and the command that repeats it. `pytest -k NAME` runs a test or \
test file, with `-m long` where it takes many seconds. Seconds are of two-core Intel Xeon and AMD EPYC \
machines, mostly under load, and vary by a factor of two; iterations and ratios vary little. Figures are \
those of the day of the decision; the measured pages have the current ones. `python \
scripts/decisions_index.py` writes this page.
"""


def index() -> str:
    """The text of docs/decisions.md."""
    pages = sorted((DOCS / "decisions").glob("*.md"))
    sections = [HEAD]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        records = [f"- {record['question']} ({record['date']})" for record in RECORD.finditer(text)]
        sections.append(f"## [{title}](decisions/{page.name})\n" + "\n".join(records) + "\n")
    names = "\n".join(f"decisions/{page.stem}" for page in pages)
    return "\n".join([*sections, f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"])


if __name__ == "__main__":
    (DOCS / "decisions.md").write_text(index(), encoding="utf-8")
