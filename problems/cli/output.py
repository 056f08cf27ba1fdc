"""Output of a command: answers on standard output, progress and errors on standard error.

--json     the answer is one JSON value, alone on standard output
--quiet    no answer in words and no progress; complaints and the exit status remain
--verbose  the table of a report in full; more on the way, on standard error
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from trajopt.base.errors import printable
from trajopt.base.files import words

if TYPE_CHECKING:
    from trajopt.verification.report import Report

READER_GONE = 141  # exit status of a program that writes to a closed pipe: 128 and the number of SIGPIPE


def echo(text: str, err: bool = False) -> None:
    """Print a text that may hold names from files; end quietly where the reader has gone, like `| head`."""
    try:
        click.echo(printable(text), err=err)
    except BrokenPipeError:
        stream = sys.stderr if err else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what Python flushes as it ends
        sys.exit(READER_GONE)


@dataclass(frozen=True)
class Output:
    """Output of a command: how much it prints, and for people or for programs."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    def answer(self, text: str) -> None:
        """The answer in words, where neither JSON nor silence was asked for."""
        if not (self.as_json or self.quiet):
            echo(text)

    def verdict(self, report: Report) -> None:
        """The three lines of a report; with `--verbose` its table."""
        self.answer(report.table if self.verbose else str(report))

    def values(self, content: Any) -> None:
        """The answer as JSON, where that was asked for; infinite numbers become the word "inf"."""
        if self.as_json:
            echo(json.dumps(words(content), indent=2, allow_nan=False))

    def progress(self, text: str) -> None:
        """A line on the way."""
        if not self.quiet:
            echo(text, err=True)

    def detail(self, text: str) -> None:
        """Print a line that only `--verbose` shows."""
        if self.verbose:
            echo(text, err=True)


def output_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command those options among `json`, `quiet`, `verbose`, and passes them on as `output`."""
    helps = {
        "json": "Print the answer as JSON, alone on standard output.",
        "quiet": "Print nothing but complaints, and no progress.",
        "verbose": "Print the table of a report in full; tell more on the way, on standard error.",
    }

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapper(
            *arguments: Any, as_json: bool = False, quiet: bool = False, verbose: bool = False, **options: Any
        ) -> Any:
            if quiet and verbose:
                raise click.UsageError("--quiet and --verbose exclude each other: give one of them")
            return command(*arguments, output=Output(as_json, quiet, verbose), **options)

        short = {"json": (), "quiet": ("-q",), "verbose": ("-v",)}
        for name in reversed(names):
            variable = "as_json" if name == "json" else name
            option = click.option(f"--{name}", *short[name], variable, is_flag=True, help=helps[name])
            wrapper = option(wrapper)
        return wrapper

    return decorate
