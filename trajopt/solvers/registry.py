"""Registry of the solvers that can be chosen by name: each is listed once, here.

To add a solver: write its file, a frozen dataclass with `solve` (protocol `Solver`), a static `version` and
what it offers beyond that, and add a line to SOLVERS. The command line and the contract test for all
solvers then know it. Nothing is imported before a solver is created, so that listing names costs no time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trajopt.base.arguments import implements, short_repr
from trajopt.base.errors import OptionError, near_matches

if TYPE_CHECKING:
    from trajopt.solvers.solver import Solver

__all__ = ["DEFAULT", "SOLVERS", "RegisteredSolver", "check_solver", "create"]

DEFAULT = "ipopt"  # where neither user nor problem names a solver


@dataclass(frozen=True)
class RegisteredSolver:
    """A solver by name: where its class is, and what it is for."""

    name: str
    module: str
    class_name: str
    summary: str

    @property
    def solver_class(self) -> type:
        return getattr(import_module(self.module), self.class_name)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the settings that its class takes."""
        return tuple(field.name for field in fields(self.solver_class))

    @property
    def version(self) -> str:
        """Version of the installed solver; ImportError where there is none."""
        return self.solver_class.version()  # type: ignore[attr-defined]


SOLVERS = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            RegisteredSolver(
                "ipopt", "trajopt.solvers.ipopt", "Ipopt", "interior point, sparse, second derivatives"
            ),
            RegisteredSolver(
                "dense",
                "trajopt.solvers.dense.interior_point",
                "DenseInteriorPoint",
                "interior point, dense, second derivatives, up to 400 unknowns",
            ),
            RegisteredSolver(
                "slsqp", "trajopt.solvers.slsqp", "Slsqp", "sequential quadratic programming, dense, small"
            ),
        )
    }
)


def create(name: str = DEFAULT) -> Solver:
    """The solver of this name with its default settings; OptionError for a name that is not registered."""
    if name not in SOLVERS:
        raise OptionError(
            f"no solver is called '{name}'{near_matches(name, SOLVERS)}: known are {', '.join(SOLVERS)}"
        )
    return SOLVERS[name].solver_class()


def check_solver(solver: Any, what: str = "solver") -> None:
    """Raise OptionError unless `solver` is an instance of something with `solve`; a class is not."""
    from trajopt.solvers.solver import Solver

    if not implements(solver, Solver) or isinstance(solver, type):
        examples = " or ".join(f"trajopt.{entry.class_name}()" for entry in SOLVERS.values())
        raise OptionError(f"{what} is {short_repr(solver)}: give an instance such as {examples}")
