"""Escapes control characters in text from files and users before it is printed on a terminal.

An escape sequence in a name could clear the screen, move the cursor or hide what stands before it; a mark
that turns the direction of writing could show letters in another order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

SPELLED = ("Cc", "Cs", "Zl", "Zp")  # Unicode categories: controls, lone surrogates, separators of lines
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
LAYOUT = frozenset("\n\t")  # controls that texts of several lines are made of


def printable(text: str, kept: Collection[str] = LAYOUT) -> str:
    """A text of ours with names of others in it: new lines and tabs stay, other controls read as \\x1b."""
    if text.isprintable():
        return text
    return "".join(sign if sign in kept or not _obeyed(sign) else _spelled(sign) for sign in text)


def printable_name(text: str) -> str:
    """A name of others: without new lines too, which would let it write lines of its own."""
    return printable(text, kept=())


def _obeyed(sign: str) -> bool:
    """True if a terminal acts on a character instead of showing it."""
    return unicodedata.category(sign) in SPELLED or sign in DIRECTIONS


def _spelled(sign: str) -> str:
    return sign.encode("unicode_escape").decode()
