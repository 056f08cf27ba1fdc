"""Facts of an object in a console or a notebook: a headline and a few lines, each with a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from trajopt.base.arguments import SHOWN, shorten
from trajopt.base.errors import printable_name

MOST_LINES = 15
LONGEST_LINE = 2 * SHOWN  # characters
CARD = "font: 13px/1.45 system-ui, sans-serif; max-width: 760px"
LABEL = "text-align: left; vertical-align: top; padding: 0 1em 0 0; font-weight: normal; opacity: .65"
TEXT = "text-align: left; vertical-align: top; padding: 0"
BAD = "#b00020"


@dataclass(frozen=True)
class Facts:
    """A headline and named facts: the text of a `repr`, or the card that a notebook shows.

    rows : name and text of every fact, in the order in which they are shown; those without text are left out
    good : False where the headline reports a failure
    """

    headline: str
    rows: Sequence[tuple[str, str]] = ()
    good: bool = True

    def __str__(self) -> str:
        shown = [(name, text) for name, text in self.rows if text]
        hidden = len(shown) - (MOST_LINES - 1)
        if hidden > 0:
            shown = [*shown[: MOST_LINES - 2], ("...", f"{hidden + 1} more")]
        width = max((len(name) for name, _ in shown), default=0) + 2
        lines = [self.headline, *(f"  {name:<{width}}{text}" for name, text in shown)]
        return "\n".join(shorten(printable_name(line), LONGEST_LINE) for line in lines)

    def html(self, *pictures: str, details: str = "") -> str:
        """The card as HTML without scripts or outside files.

        pictures : SVG or other HTML to stand side by side below the facts
        details : plain text that opens with a click, such as the whole report
        """
        colour = "" if self.good else f"; color: {BAD}"
        rows = "".join(
            f'<tr><th style="{LABEL}">{escape(name)}</th><td style="{TEXT}">{escape(text)}</td></tr>'
            for name, text in self.rows
            if text
        )
        drawn = "".join(
            f'<div style="flex: 1 1 300px; max-width: 375px">{picture}</div>' for picture in pictures
        )
        parts = [
            f'<div style="font-weight: 600{colour}">{escape(self.headline)}</div>',
            f'<table style="border: none; margin: 0; font: inherit"><tbody>{rows}</tbody></table>'
            if rows
            else "",
            f'<div style="display: flex; flex-wrap: wrap; gap: 8px">{drawn}</div>' if drawn else "",
            f"<details><summary>all of it</summary><pre>{escape(details)}</pre></details>" if details else "",
        ]
        return f'<div style="{CARD}">{"".join(parts)}</div>'
