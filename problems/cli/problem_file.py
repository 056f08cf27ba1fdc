"""A user's own problem: a Python file with a function `build(**parameters)`, run when the user names it."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamics.errors import DynamicsError
from problems import catalogue
from problems.cli.figures import DrawFigures, explain_unused, figure_writer, is_ours
from problems.recipe import recipe
from trajopt.base.arguments import short_repr
from trajopt.base.errors import ProblemError, TrajoptError, warn_user
from trajopt.base.files import near_files
from trajopt.base.lazy_exports import refuse_namesakes


def is_problem_file(name_or_path: str) -> bool:
    """True if a command-line argument means a file rather than the name of a problem."""
    return "." in name_or_path or "/" in name_or_path or "\\" in name_or_path


def no_remarks(solution: Any) -> list[str]:
    return []


@dataclass(frozen=True)
class NamedProblem:
    """A problem given by name or file: its build function, and the figures and remarks that it adds.

    build : called with parameters by name; a `trajopt.Problem` or `trajopt.Phases`
    draw : (solution, folder, ending of figures) -> names of the files that it wrote; None where there is none
    remarks : solution -> lines that are printed below its report
    """

    build: Callable[..., Any]
    draw: DrawFigures
    remarks: Callable[[Any], list[str]] = no_remarks


def named(name_or_path: str) -> NamedProblem:
    """The problem of the catalogue or of a file, before it is built."""
    if is_problem_file(name_or_path):
        return from_file(Path(name_or_path))
    module = catalogue.module(name_or_path)
    remarks = getattr(module, "remarks", no_remarks)
    return NamedProblem(module.build, figure_writer(vars(module)), remarks)


def build_named(name_or_path: str, parameters: Mapping[str, Any]) -> Any:
    """The problem, or the phases, of the catalogue or of a file, with these parameters."""
    return named(name_or_path).build(**parameters)


def build_file(path: Path, parameters: Mapping[str, Any]) -> Any:
    """The problem, or the phases, of a Python file; see `from_file`."""
    return from_file(path).build(**parameters)


def from_file(path: Path) -> NamedProblem:
    """The problem that the `build` of a Python file returns, with figures of its `draw`, lines of `remarks`.

    Its parameters are checked as those of the catalogue's problems are. The recipe carries the file's name
    with its ending, which no problem of the catalogue has: a saved solution never imports the file by itself.
    Raises ProblemError for a file that is missing, has no `build`, raises or exits, and names the line; what
    is built and drawn raises the same.
    """
    module = vars(imported(path))
    build, draw, own_remarks = module.get("build"), figure_writer(module), module.get("remarks", no_remarks)
    if not callable(build):
        raise ProblemError(
            f"{path} has no function build: define build(**parameters) that returns a trajopt.Problem, "
            "as problems/pendulum_swing_up.py does"
        )
    call: Callable[..., Any] = build

    def built(**parameters: Any) -> Any:
        with explaining(path):
            problem = recipe(call, name=path.name)(**parameters)
            if advice := explain_unused(module, problem):
                warn_user(f"{path}: {advice}")
        return problem

    def drawn(solution: Any, folder: Path, ending: str) -> list[str]:
        assert draw is not None
        with explaining(path):
            names = draw(solution, folder, ending)
            names = names if isinstance(names, str) else list(names)
        return _checked_figures(path, names, folder)

    def remarks(solution: Any) -> list[str]:
        with explaining(path):
            return [str(line) for line in own_remarks(solution)]

    return NamedProblem(built, None if draw is None else drawn, remarks)


def _checked_figures(path: Path, names: str | list[Any], folder: Path) -> list[str]:
    """The names that `draw` returned: files in the folder, none that of a figure of every solution."""
    expected = "return a list of the names of the files that it wrote to its folder, such as ['own.png']"
    if isinstance(names, str):
        raise ProblemError(f"{path}: draw returned {short_repr(names)}: {expected}")
    for name in names:
        if not isinstance(name, str):
            raise ProblemError(
                f"{path}: draw returned the name {short_repr(name)}, which is no string: {expected}"
            )
        if is_ours(name):
            raise ProblemError(
                f"{path}: draw returned {name!r}, the name of a figure that every solution has: take another"
            )
        if not (folder / name).is_file():
            raise ProblemError(f"{path}: draw returned {name!r}, and its folder has no such file: {expected}")
    return names


def imported(path: Path) -> Any:
    """The file as a module, its folder importable while it runs, as when Python runs a script.

    While it runs it is also known by its name, where none is known by it: dataclasses look their module up.
    """
    if not path.is_file():
        raise ProblemError(
            f"{path} is not a file{_meant(path)}: give the path of a Python file, or a name from "
            "`trajopt list`"
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    refuse_namesakes(path.resolve().parent, "trajopt", "dynamics", "problems")
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    known = sys.modules.setdefault(path.stem, module)
    try:
        with explaining(path):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
        if known is module:
            sys.modules.pop(path.stem, None)
    return module


def _meant(path: Path) -> str:
    """Name of the problem of the library, or of the file beside, that was meant."""
    if path.stem in catalogue.names() and path.parent == Path():
        return f" (did you mean the problem '{path.stem}'?)"
    return near_files(path, (".py",))


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what a user's file raises, or its sys.exit, into a ProblemError that names the line.

    Errors of this library hold advice already and pass.
    """
    try:
        yield
    except (TrajoptError, DynamicsError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise ProblemError(
            f"{_line(path, error)}: the file ends the program, sys.exit({error.code!r}): a problem file "
            "defines build and leaves the rest to the command; put scripts under if __name__ == '__main__'"
        ) from error
    except SyntaxError as error:
        raise ProblemError(f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}") from error
    except Exception as error:
        raise ProblemError(f"{_line(path, error)}: {type(error).__name__}: {error}") from error


def _line(path: Path, error: BaseException) -> str:
    """The last line of the user's own file on the way to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f"{path}, line {own[-1].lineno}" if own else str(path)
