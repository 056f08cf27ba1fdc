"""Replaces rows, sections and marked parts of a Markdown page, so that each can be measured anew."""

from __future__ import annotations

import re
from pathlib import Path

from trajopt.base.errors import OptionError


def with_row(page: str, row: str) -> str:
    """The page with the table row of the same first cell and as many cells replaced.

    Raises OptionError where there is none, or more than one.
    """
    name, cells = row.split("|")[1], row.count("|")
    lines = page.split("\n")
    found = [
        number
        for number, line in enumerate(lines)
        if line.startswith(f"|{name}|") and line.count("|") == cells
    ]
    if len(found) != 1:
        raise OptionError(f"{len(found)} rows are called{name}: expected one; write the whole page first")
    lines[found[0]] = row
    return "\n".join(lines)


def with_section(page: str, title: str, body: str) -> str:
    """The page with the text below the heading `### title` replaced, up to the next heading.

    Raises OptionError where there is no such heading.
    """
    pattern = re.compile(rf"(^### {re.escape(title)}\n\n).*?(?=^#|\Z)", re.DOTALL | re.MULTILINE)
    if len(pattern.findall(page)) != 1:
        raise OptionError(f"no section, or several, called {title!r}: write the whole page first")
    return pattern.sub(lambda match: f"{match.group(1)}{body}\n\n", page)


def put_between_marks(page: Path, name: str, content: str) -> None:
    """Write `content` between the marks of a name into the file of a page, as `between_marks`."""
    page.write_text(between_marks(page.read_text(encoding="utf-8"), name, content), encoding="utf-8")


def text_between_marks(text: str, name: str) -> str:
    """Text between the marks of a name; empty where it has none."""
    return text.partition(f"<!-- {name} -->\n")[2].partition("\n<!-- end -->")[0]


def between_marks(text: str, name: str, content: str) -> str:
    """`text` with `content` between the marks of a name; OptionError where it has none."""
    start, end = f"<!-- {name} -->\n", "\n<!-- end -->"
    before, found, after = text.partition(start)
    if not found or end not in f"\n{after}":
        raise OptionError(
            f"the page has no place for '{name}': give it '{start.strip()}' and '{end.strip()}'"
        )
    return before + start + content + end + f"\n{after}".partition(end)[2]
