"""Progress display of a solve: one line that changes, on a terminal or in a notebook, or a few in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any, Literal

from trajopt.base.arguments import check_choice
from trajopt.solvers.solver import Callback, Iteration

_REFRESH = 0.1  # seconds between changes of the live line; a reader cannot follow more
_LONGEST_GAP = 10.0  # seconds after which a plain line is due whatever its number


class Progress:
    """A callback for `Solver.solve`, used as `with Progress() as progress: solver.solve(nlp, progress)`.

    display   "auto": "live" on a terminal, "notebook" in one, "plain" elsewhere;  "silent": nothing at all
    stream    where to write, by default standard error, so that piped results stay clean

    Plain lines come at iterations 0, 1, 2, 5, 10, 20, 50, 100, ..., whenever ten seconds passed without one,
    and at the end: about ten for a thousand iterations. Where there are several solves, starts or meshes, a
    line with its number stands above each but the first. An exception inside, Ctrl-C included, leaves the
    terminal as it was. Raises OptionError for another display.
    """

    def __init__(
        self,
        display: Literal["auto", "live", "notebook", "plain", "silent"] = "auto",
        stream: IO[str] | None = None,
    ) -> None:
        check_choice("display", display, ("auto", "live", "notebook", "plain", "silent"))
        self._stream = sys.stderr if stream is None else stream
        if display == "auto":
            terminal = self._stream.isatty()
            display = "live" if terminal else "notebook" if stream is None and in_notebook() else "plain"
        self._display = display
        self._output: Any = None  # the output of a notebook's cell, once there is one
        self._live: Any = None
        self._last: Iteration | None = None
        self._shown: Iteration | None = None
        self._shown_at = -float("inf")
        self._solves = 1

    def __enter__(self) -> Progress:
        if self._display == "live":
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            # No refresh thread: it would take time from the solver, and its lock could be held at Ctrl-C.
            self._live = Live(console=console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._show_last()
        finally:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def __call__(self, iteration: Iteration) -> None:
        if iteration.iteration == 0 and self._last is not None:
            self._begin_next_solve()
        self._last = iteration
        waited = time.perf_counter() - self._shown_at
        due = waited >= _REFRESH if self._display in ("live", "notebook") else _is_round(iteration.iteration)
        if due or waited >= _LONGEST_GAP:
            self._show(iteration)

    def _begin_next_solve(self) -> None:
        """The last line of one solve and a title for the next, of several starts or meshes; plain lines."""
        self._solves += 1
        if self._display == "plain":
            self._show_last()
            print(solve_title(self._solves), file=self._stream, flush=True)

    def _show_last(self) -> None:
        if self._last is not None and self._last is not self._shown:
            self._show(self._last)

    def _show(self, iteration: Iteration) -> None:
        self._shown, self._shown_at = iteration, time.perf_counter()
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line(iteration), no_wrap=True, overflow="ellipsis"), refresh=True)
        elif self._display == "notebook":
            self._output = changed_output(self._output, line(iteration))
        elif self._display != "silent":
            print(line(iteration), file=self._stream, flush=True)


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook; asks IPython where it is loaded, never imports it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def changed_output(output: Any, text: str) -> Any:
    """The output of the running cell, with this text in place of the former one."""
    from IPython.display import display  # type: ignore[import-not-found]  # there where a notebook runs

    content = {"text/plain": text}
    if output is None:
        return display(content, raw=True, display_id=True)
    output.update(content, raw=True)
    return output


@contextmanager
def iteration_callback(progress: str | Callback) -> Iterator[Callback | None]:
    """The callback that shows progress: a function as it is, None for "silent", else a `Progress` display."""
    if callable(progress) and not isinstance(progress, type):
        yield progress
    elif isinstance(progress, str) and progress == "silent":
        yield None
    else:
        with Progress(progress) as display:  # type: ignore[arg-type]  # Progress refuses other words
            yield display


def line(iteration: Iteration) -> str:
    """One line about an iteration, its columns at fixed places."""
    return (
        f"iteration {iteration.iteration:5d}   objective {iteration.objective:15.8g}   "
        f"infeasibility {iteration.infeasibility:8.1e}   {iteration.seconds:7.2f} s"
    )


def solve_title(solve: int) -> str:
    """The line above the iterations of a solve that is not the first."""
    return f"solve {solve}"


def _is_round(number: int) -> bool:
    digits = str(number).rstrip("0")
    return digits in ("", "1", "2", "5")
