"""Modules under their former names: they forward every attribute with a DeprecationWarning.

`from trajopt.expression import trace` and `trajopt.problem.Problem` were printed on pages before the modules
moved into rooms. The public names, `trajopt.trace` and `trajopt.Problem`, are what to write instead.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object

_PROTOCOLS = (
    "trajopt.graph.protocols.block",
    "trajopt.graph.protocols.term",
    "trajopt.graph.protocols.dynamics",
)
# former module -> modules that define its names now, asked in this order
FORMER = MappingProxyType(
    {
        "trajopt.active": ("trajopt.report.active_constraints",),
        "trajopt.arithmetic": ("trajopt.terms.arithmetic",),
        "trajopt.block": (*_PROTOCOLS, "trajopt.graph.elementary"),
        "trajopt.bspline": ("trajopt.splines.basis",),
        "trajopt.certificate": ("trajopt.solution.certificate",),
        "trajopt.certified": ("trajopt.refinement.certified",),
        "trajopt.checkpoint": ("trajopt.solvers.wrappers.checkpoint",),
        "trajopt.curve": ("trajopt.splines.curve",),
        "trajopt.data": ("trajopt.graph.data",),
        "trajopt.derivative_check": ("trajopt.transcription.derivative_check",),
        "trajopt.diagnosis": ("trajopt.verification.diagnosis",),
        "trajopt.expression": ("trajopt.graph.trace", "trajopt.graph.expression"),
        "trajopt.graph.block": _PROTOCOLS,
        "trajopt.ipopt": ("trajopt.solvers.ipopt",),
        "trajopt.kkt": ("trajopt.solvers.optimality.kkt", "trajopt.solvers.optimality.active_set"),
        "trajopt.multistart": ("trajopt.studies.multistart",),
        "trajopt.nlp": ("trajopt.transcription.nlp",),
        "trajopt.progress": ("trajopt.solvers.progress",),
        "trajopt.rounds": ("trajopt.solvers.wrappers.rows_in_rounds",),
        "trajopt.simulation": ("trajopt.solution.simulation",),
        "trajopt.slsqp": ("trajopt.solvers.slsqp",),
        "trajopt.solver": ("trajopt.solvers.solver",),
        "trajopt.solvers.kkt": (
            "trajopt.solvers.optimality.kkt",
            "trajopt.solvers.optimality.active_set",
        ),
        "trajopt.statements": ("trajopt.problem.costs_and_constraints",),
        "trajopt.switching_time": ("trajopt.refinement.switching.shooting",),
        "trajopt.trajectory": ("trajopt.splines.trajectory",),
        "trajopt.use": (
            "trajopt.splines.node_sets",
            "trajopt.splines.over",
            "trajopt.transcription.row_groups",
        ),
        "trajopt.verify": ("trajopt.verification.verify",),
    }
)
# room that has the name of a former module -> modules that define that module's names now
ROOMS = MappingProxyType(
    {
        "trajopt.graph": ("trajopt.graph.graph",),
        "trajopt.problem": ("trajopt.problem.problem", "trajopt.problem.costs_and_constraints"),
        "trajopt.refinement": ("trajopt.refinement.refined", "trajopt.refinement.knots"),
        "trajopt.solution": ("trajopt.solution.solution",),
        "trajopt.terms": ("trajopt.terms.term",),
        "trajopt.transcription": ("trajopt.transcription.transcribe",),
    }
)


class FormerModule(ModuleType):
    """A module of which only the name is left."""

    def __getattr__(self, name: str) -> Any:
        return _forwarded(self.__name__, self.__dict__["homes"], name)


class FormerPathFinder(Loader):
    """Finds and loads the modules of a table, after all others have failed to.

    Its base class is for type checkers: importing `importlib.abc` takes as long as all of `import trajopt`.
    """

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._table = table

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self._table else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = FormerModule(spec.name)
        module.__dict__["homes"] = self._table[spec.name]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install_former_paths(table: Mapping[str, Sequence[str]]) -> None:
    """Let `import` find the former modules of a table: former name -> modules that define its names now."""
    sys.meta_path.append(FormerPathFinder(table))


def forward(room: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room that has the name of a former module: its submodules come first."""

    def attribute(name: str) -> Any:
        from importlib.util import find_spec

        if name.startswith("__") or find_spec(f"{room}.{name}") is not None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return _forwarded(room, ROOMS[room], name)

    return attribute


def _forwarded(former: str, homes: Sequence[str], name: str) -> Any:
    """The attribute of the first module that has it, with a warning that names the path to write."""
    if name.startswith("__"):
        raise AttributeError(f"module {former!r} has no attribute {name!r}")
    for home in homes:
        module = import_module(home)
        if hasattr(module, name):
            path = _public_path(module, name)
            warnings.warn(f"{former}.{name} has moved: write {path}", DeprecationWarning, stacklevel=3)
            return getattr(module, name)
    raise AttributeError(f"module {former!r} has no attribute {name!r}; it has become {' and '.join(homes)}")


def _public_path(module: ModuleType, name: str) -> str:
    """The shortest public path to a name of a module: `trajopt.trace`, `problems.goddard_rocket.build`."""
    package, _, inner = module.__name__.partition(".")
    face, last = sys.modules[package], inner.rpartition(".")[2]
    if name in getattr(face, "__all__", ()):
        return f"{package}.{name}"
    if getattr(face, last, None) is module:
        return f"{package}.{last}.{name}"
    return f"{module.__name__}.{name}"
