"""The options of IPOPT, read from the listing that the installed library prints.

A table written by hand would be out of date after a release of IPOPT. `parsed_options` reads the listing in
its doxygen format, the only one that distinguishes whole numbers from real ones:

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

import numpy as np

from trajopt.base.arguments import is_number
from trajopt.base.errors import OptionError, near_matches

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
    """One option: `kind` is "real", "integer" or "string"; without `choices` a string may be anything.

    lowest, highest : the least and the greatest value, next to a bound that is itself not allowed
    """

    name: str
    kind: str
    summary: str
    range: str = ""
    lowest: float = -np.inf
    highest: float = np.inf
    choices: tuple[str, ...] = ()

    def convert(self, value: object) -> str | int | float:
        """`value` as the type that IPOPT expects; raises OptionError where it cannot be converted."""
        if self.kind == "string":
            return self._convert_string(value)
        if not is_number(value) or (self.kind == "integer" and value % 1 != 0):
            raise self._refuse(value, "a whole number" if self.kind == "integer" else "a number")
        if not self.lowest <= value <= self.highest:  # NaN is refused too
            raise self._refuse(value, self.range)
        return int(value) if self.kind == "integer" else float(value)

    def _convert_string(self, value: object) -> str:
        if isinstance(value, bool) and {"yes", "no"} <= set(self.choices):
            return "yes" if value else "no"
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise self._refuse(value, "one of " + ", ".join(self.choices) if self.choices else "a string")
        return value

    def _refuse(self, value: object, expected: str) -> OptionError:
        meaning = f" ({self.summary})" if self.summary else ""
        return OptionError(f"IPOPT's option {self.name} = {value!r}: expected {expected}{meaning}")


def parsed_options(listing: str) -> dict[str, IpoptOption]:
    """All options by name, from a listing that IPOPT wrote with print_options_mode = doxygen."""
    return {entry["name"]: _parse_entry(entry) for entry in _ENTRY.finditer(listing)}


def converted_options(
    options: Mapping[str, object], table: Mapping[str, IpoptOption]
) -> dict[str, str | int | float]:
    """`options` with values of the types that IPOPT expects; raises OptionError for those it refuses.

    With a prefix, as in "resto.mu_strategy", a name stands for the option that it specialises.
    """
    found = {}
    for name, value in options.items():
        plain = str(name).rpartition(".")[2]
        if plain not in table:
            raise OptionError(
                f"{name!r} is not an option of IPOPT{near_matches(plain, table)}; "
                "they are listed at https://coin-or.github.io/Ipopt/OPTIONS.html"
            )
        found[name] = table[plain].convert(value)
    return found


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
    lowest, highest = _end(below, np.inf), _end(above, -np.inf)
    return IpoptOption(name, numeric["kind"], summary, written, lowest, highest)


def _end(side: str, inwards: float) -> float:
    """The last value at one side of a range, next to a bound that is not allowed; infinite without one."""
    bound = side.strip(" <=")
    if not bound:
        return -inwards
    return float(bound) if "<=" in side else float(np.nextafter(float(bound), inwards))


def _parse_choices(text: str) -> tuple[str, ...]:
    if "Possible values: yes, no" in text:
        return ("yes", "no")
    words = tuple(match["word"].strip() for match in _CHOICE.finditer(text.partition("Possible values:")[2]))
    return () if "*" in words else words
