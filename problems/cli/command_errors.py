"""Errors of a command that misuse causes, one paragraph and exit status 2, and its warnings, a line each."""

from __future__ import annotations

import functools
import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

from problems.cli.exit_status import MISUSE
from problems.cli.output import echo
from trajopt.base.errors import printable

SHOW_TRACEBACK = "TRAJOPT_TRACEBACK"  # environment variable: set to see where an error comes from


class Complaint(click.ClickException):
    """Misuse, as one paragraph and exit status 2."""

    exit_code = MISUSE

    def format_message(self) -> str:
        return printable(super().format_message())


def explained(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn every exception of a command into a paragraph with advice, and every warning into a line."""

    @functools.wraps(command)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _print_warning
                return command(*arguments, **options)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            raise Complaint(explanation(error)) from None

    return wrapper


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning on standard error, with its place in a file of the user; of a command there is none."""
    by_command = Path(filename).parent == Path(click.__file__).parent
    echo(f"warning: {message}" if by_command else f"{filename}, line {lineno}: warning: {message}", err=True)


def explanation(error: Exception) -> str:
    """The message of an error of ours; for any other also its kind and the line that it comes from."""
    from dynamics.errors import DynamicsError
    from trajopt.base.errors import ProblemError, TrajoptError

    hint = f" (set {SHOW_TRACEBACK}=1 to see the traceback)"
    if isinstance(error, TrajoptError | DynamicsError):
        foreign = error.__cause__ is not None and isinstance(error, ProblemError)
        return str(error) + hint * foreign
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    setting = _setting_to_change(error)
    if setting:
        return setting
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}, line {error.lineno}: "
    return f"{where}{type(error).__name__}: {error}{hint}"


def _setting_to_change(error: Exception) -> str:
    """Advice where an environment variable causes an error of another library; else an empty text."""
    backend = os.environ.get("MPLBACKEND", "")
    if backend and isinstance(error, ValueError) and f"backend: {backend!r}" in str(error):
        return f"MPLBACKEND is {backend!r}, which is no backend of matplotlib: unset it, or set it to agg"
    interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if interpreted not in ("", "0") and isinstance(error, NotImplementedError | TypeError):
        return (
            f"NUMBA_DISABLE_JIT is {interpreted}, but the kernels of rigid-body dynamics run compiled only: "
            "unset it"
        )
    return ""
