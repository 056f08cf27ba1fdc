"""Progress: one changing line on a terminal, a few lines in a log, and a terminal left as it was."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hand_written import two_link_minimum_time
from small_nlps import hs071, rosenbrock

import trajopt
from trajopt.base.errors import OptionError
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.monitor import Progress, in_notebook
from trajopt.solvers.solver import Iteration, Run


def iteration(number):
    return Iteration(number, 0.39185, 1e-9, 1e-8, 0.1, 0.001 * number)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_of_a_thousand_iterations_has_about_ten_lines():
    stream = io.StringIO()
    with Progress(stream=stream) as progress:
        for number in range(1001):
            progress(iteration(number))
    shown = [int(text.split()[1]) for text in stream.getvalue().splitlines()]
    assert shown == [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


def test_every_solve_but_the_first_has_a_title_and_its_last_iteration():
    stream = io.StringIO()
    with Progress("plain", stream) as progress:
        for _ in range(3):
            for number in range(4):
                progress(iteration(number))
    shown = [" ".join(text.split()[:2]) for text in stream.getvalue().splitlines()]
    solve = ["iteration 0", "iteration 1", "iteration 2", "iteration 3"]
    assert shown == [*solve, "solve 2", *solve, "solve 3", *solve]


def test_the_last_iteration_is_always_shown_once():
    stream = io.StringIO()
    with Progress("plain", stream) as progress:
        result = Ipopt().solve(hs071(), run=Run(callback=progress))
    lines = stream.getvalue().splitlines()
    assert lines[-1].split()[1] == str(result.iterations)
    assert len(lines) == len(set(lines))
    assert "objective       17.014017 " in lines[-1]


def test_a_terminal_gets_one_line_that_changes_and_its_cursor_back():
    stream = Terminal()
    with Progress(stream=stream) as progress:
        for number in range(200):
            progress(iteration(number))
    written = stream.getvalue()
    assert written.count("\n") <= 2
    assert "iteration   199" in written
    assert written.count("iteration") < 20  # ten a second at most
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_ctrl_c_gives_the_cursor_back():
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt), Progress(stream=stream) as progress:  # noqa: PT012  the order matters
        progress(iteration(0))
        raise KeyboardInterrupt
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")


def test_silent_writes_nothing():
    stream = Terminal()
    with Progress("silent", stream) as progress:
        Ipopt().solve(rosenbrock(), run=Run(callback=progress))
    assert stream.getvalue() == ""


def test_nothing_is_written_where_nothing_happened():
    stream = io.StringIO()
    with Progress(stream=stream):
        pass
    assert stream.getvalue() == ""


def test_an_unknown_display_is_refused():
    with pytest.raises(OptionError, match="display = 'loud': expected 'auto' or 'live' or 'notebook'"):
        Progress("loud")


@pytest.mark.long
@pytest.mark.parametrize(
    "solver",
    [Ipopt(), trajopt.Slsqp(), trajopt.ConstraintGeneration(Ipopt())],
    ids=["ipopt", "slsqp", "rows in rounds"],
)
def test_the_objective_that_is_shown_is_that_of_the_problem(solver):
    """The program that the solver sees has it times a constant factor."""
    problem, seen = two_link_minimum_time(6), []
    solution = trajopt.solve(problem, solver, progress=seen.append)
    assert solution.converged and abs(solution.history[-1, 1] / solution.objective - 1.0) > 0.1
    assert seen[-1].objective == pytest.approx(solution.objective, rel=1e-9)


class Shell:
    """A kernel of a notebook, as far as it is asked."""

    config: ClassVar = {"IPKernelApp": {}}


def test_a_notebook_gets_one_output_that_changes(monkeypatch):
    shown = []

    class Output:
        def update(self, content, raw):
            assert raw
            shown[-1] = content["text/plain"]

    def display(content, raw, display_id):
        assert raw and display_id
        shown.append(content["text/plain"])
        return Output()

    ipython = SimpleNamespace(get_ipython=Shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    with Progress() as progress:
        for number in range(50):
            progress(iteration(number))
    assert len(shown) == 1 and shown[0].startswith("iteration    49")


def test_a_terminal_of_ipython_is_no_notebook(monkeypatch):
    terminal = SimpleNamespace(config={"TerminalIPythonApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: terminal))
    assert not in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
