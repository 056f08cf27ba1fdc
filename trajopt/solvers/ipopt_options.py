"""The options of IPOPT, read from the listing that the installed library prints.

A table written by hand would be out of date after a release of IPOPT. `OptionTable.parse` reads the listing
in its doxygen format, the only one that tells whole numbers from real ones:

    \\anchor OPT_alpha_red_factor
    <strong>alpha_red_factor</strong> (<em>advanced</em>): Fractional reduction of the trial step size ...
    <blockquote>
     ... The valid range for this real option is 0 < alpha_red_factor < 1 and its default value is 0.5.
    </blockquote>
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.errors import OptionError, near_matches

__all__ = ["IpoptOption", "OptionTable"]

_ENTRY = re.compile(
    r"<strong>(?P<name>\w+)</strong>(?: \(<em>advanced</em>\))?(?P<summary>[^\n]*)\n"
    r"<blockquote>\n(?P<text>.*?)</blockquote>",
    re.DOTALL,
)
_NUMERIC = re.compile(
    r"valid range for this (?P<kind>real|integer) option is (?P<range>.*?) and its\s+default value is "
)
_CHOICE = re.compile(r"^ - (?P<word>[^:\n]+?)(?::|$)", re.MULTILINE)
_NOTATION = (("&le;", "<="), (" &middot; 10<sup>", "e"), ("10<sup>", "1e"), ("</sup>", ""))


@dataclass(frozen=True)
class IpoptOption:
    """One option: `kind` is "real", "integer" or "string"; without `choices` a string may be anything."""

    name: str
    kind: str
    summary: str
    range: str = ""
    lowest: float = -np.inf
    highest: float = np.inf
    lowest_allowed: bool = True
    highest_allowed: bool = True
    choices: tuple[str, ...] = ()

    def convert(self, value: Any) -> str | int | float:
        """`value` as the type that IPOPT expects; raises OptionError where it cannot be converted."""
        if self.kind == "string":
            return self._convert_string(value)
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not number or (self.kind == "integer" and value % 1 != 0):
            raise self._refuse(value, "a whole number" if self.kind == "integer" else "a number")
        above = value > self.lowest or (self.lowest_allowed and value == self.lowest)
        below = value < self.highest or (self.highest_allowed and value == self.highest)
        if not (above and below):  # written so that NaN is refused too
            raise self._refuse(value, self.range)
        return int(value) if self.kind == "integer" else float(value)

    def _convert_string(self, value: Any) -> str:
        if isinstance(value, bool) and {"yes", "no"} <= set(self.choices):
            return "yes" if value else "no"
        if not isinstance(value, str):
            raise self._refuse(value, "one of " + ", ".join(self.choices) if self.choices else "a string")
        if self.choices and value not in self.choices:
            raise self._refuse(value, "one of " + ", ".join(self.choices))
        return value

    def _refuse(self, value: Any, expected: str) -> OptionError:
        meaning = f" ({self.summary})" if self.summary else ""
        return OptionError(f"IPOPT's option {self.name} = {value!r}: expected {expected}{meaning}")


class OptionTable(Mapping[str, IpoptOption]):
    """All options by name; with a prefix, as in "resto.mu_strategy", the option that it specialises."""

    def __init__(self, options: Mapping[str, IpoptOption]) -> None:
        self._options = dict(options)

    @classmethod
    def parse(cls, listing: str) -> OptionTable:
        """The table in a listing that IPOPT wrote with print_options_mode = doxygen."""
        return cls({entry["name"]: _parse_entry(entry) for entry in _ENTRY.finditer(listing)})

    def convert(self, options: Mapping[str, Any]) -> dict[str, str | int | float]:
        """`options` with values of the types that IPOPT expects; raises OptionError for those it refuses."""
        return {name: self[name].convert(value) for name, value in options.items()}

    def __getitem__(self, name: str) -> IpoptOption:
        plain = str(name).rpartition(".")[2]
        if plain not in self._options:
            raise OptionError(
                f"{name!r} is not an option of IPOPT{near_matches(plain, self._options)}; "
                "they are listed at https://coin-or.github.io/Ipopt/OPTIONS.html"
            )
        return self._options[plain]

    def __iter__(self):
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)


def _parse_entry(entry: re.Match[str]) -> IpoptOption:
    name, summary, text = entry["name"], entry["summary"].strip(" :."), entry["text"]
    numeric = _NUMERIC.search(text)
    if numeric is None:
        return IpoptOption(name, "string", summary, choices=_parse_choices(text))
    written = numeric["range"]
    for theirs, ours in _NOTATION:
        written = written.replace(theirs, ours)
    if name not in written:  # "unrestricted"
        return IpoptOption(name, numeric["kind"], summary, range=written)
    below, _, above = written.partition(name)
    lowest, highest = below.rstrip(" <="), above.lstrip(" <=")
    return IpoptOption(
        name,
        numeric["kind"],
        summary,
        range=written,
        lowest=float(lowest) if lowest else -np.inf,
        highest=float(highest) if highest else np.inf,
        lowest_allowed="<=" in below or not lowest,
        highest_allowed="<=" in above or not highest,
    )


def _parse_choices(text: str) -> tuple[str, ...]:
    if "Possible values: yes, no" in text:
        return ("yes", "no")
    words = tuple(match["word"].strip() for match in _CHOICE.finditer(text.partition("Possible values:")[2]))
    return () if "*" in words else words
