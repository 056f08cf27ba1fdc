"""Mutations of texts, bytes and numbers, all drawn from one seeded generator."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

NASTY_NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "1e-300",
    "1e300",
    "1e50",
    "1e-50",
    "1e308",
    "-1e308",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "NaN",
    "1_000",
    "\u0661\u0662",
    "0x10",
    "1e",
    "",
    " ",
    "1,5",
    "--1",
    "1/2",
    "10" * 200,
    "True",
    "null",
    "7",
    "0.1",
)
NASTY_TEXTS = (
    "",
    " ",
    "\0",
    "\n",
    "\u202e",
    "\ud7ff",
    "a" * 5000,
    "../../etc/passwd",
    "%s%n",
    "{0}",
    "<x>",
    "&lt;",
    "'",
    '"',
    "None",
    "nan",
    "link",
    "world",
    "ground",
    "\U0001f600",
    ";",
    "$(x)",
)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def mutated_text(rng: np.random.Generator, text: str) -> str:
    """The text after one to three mutations."""
    for _ in range(int(rng.integers(1, 4))):
        text = pick(rng, _TEXT_MUTATIONS)(rng, text)
    return text


def mutated_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """The bytes with some changed, a part removed or repeated, or the end cut off."""
    found = bytearray(data)
    kind = int(rng.integers(4))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            found[int(rng.integers(len(found)))] = int(rng.integers(256))
        return bytes(found)
    start, end = sorted(int(x) for x in rng.integers(0, len(found) + 1, 2))
    if kind == 1:
        return bytes(found[:start] + found[end:])
    if kind == 2:
        return bytes(found[:end] + found[start:])
    return bytes(found[:start])


def _replaced(rng: np.random.Generator, text: str, pattern: re.Pattern[str], new: str) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = pick(rng, matches)
    return text[: match.start()] + new + text[match.end() :]


def _number(rng: np.random.Generator, text: str) -> str:
    return _replaced(rng, text, _NUMBER, pick(rng, NASTY_NUMBERS))


def _scaled(rng: np.random.Generator, text: str) -> str:
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return text
    match = pick(rng, matches)
    number = float(match.group()) * float(rng.normal()) * 10.0 ** int(rng.integers(-6, 7))
    return text[: match.start()] + repr(number) + text[match.end() :]


def _word(rng: np.random.Generator, text: str) -> str:
    words = _WORD.findall(text)
    new = pick(rng, words) if words and rng.random() < 0.6 else pick(rng, NASTY_TEXTS)
    return _replaced(rng, text, _WORD, new)


def _line(rng: np.random.Generator, text: str) -> str:
    """A line removed, repeated, or moved elsewhere."""
    lines = text.split("\n")
    i, kind = int(rng.integers(len(lines))), int(rng.integers(3))
    line = lines.pop(i)
    if kind:
        lines.insert(int(rng.integers(len(lines) + 1)), line)
    if kind == 2:
        lines.insert(i, line)
    return "\n".join(lines)


def _characters(rng: np.random.Generator, text: str) -> str:
    if not text:
        return pick(rng, NASTY_TEXTS)
    i = int(rng.integers(len(text)))
    new = chr(int(rng.integers(32, 127))) if rng.random() < 0.7 else pick(rng, NASTY_TEXTS)
    return text[:i] + new + text[i + int(rng.integers(2)) :]


_TEXT_MUTATIONS = (_number, _number, _scaled, _scaled, _word, _line, _line, _characters)
