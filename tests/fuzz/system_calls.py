"""Calls of functions about first-order systems with right arguments, and of what kind each argument is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import trajopt


@dataclass(frozen=True)
class Call:
    """A public function, made anew for each call, and its arguments: name -> (kind, a right value)."""

    function: Callable[[], Callable[..., Any]]
    arguments: Mapping[str, tuple[str, Any]]


def cart() -> Any:
    """A mass that a bounded force drives, on a collocation mesh."""
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    return trajopt.Problem(system, trajopt.Trajectory.collocation(3, 3, duration=1.0))


@trajopt.term
def effort(node: Any) -> Any:
    return node.u**2


def calls_of_systems() -> dict[str, Call]:
    """All calls by the name that users write."""
    values, number = ("values?", [0.0, 1.0]), ("array?", 1.0)

    def bounded_integral(term: Any, over: Any) -> None:
        cart().subject_to(trajopt.integral(term, over), upper=1.0)

    def of_state(name: Any) -> None:
        cart().minimize(trajopt.state(name), over="end")

    def of_names(states: Any, controls: Any) -> None:
        trajopt.system(states, controls, lambda node: [node.v, node.u])

    def of_rates(rates: Any) -> None:
        system = trajopt.system(("x", "v"), ("u",), rates)
        trajopt.transcribe(trajopt.Problem(system, trajopt.Trajectory.collocation(3, duration=1.0)))

    return {
        "trajopt.system": Call(
            lambda: of_names, {"states": ("object", ("x", "v")), "controls": ("object", ("u",))}
        ),
        "trajopt.system, rates": Call(lambda: of_rates, {"rates": ("object", lambda node: [node.v, node.u])}),
        "trajopt.state": Call(lambda: of_state, {"name": ("name", "x")}),
        "trajopt.integral": Call(
            lambda: bounded_integral, {"term": ("object", effort), "over": ("choice", "path")}
        ),
        "Trajectory.collocation": Call(
            lambda: trajopt.Trajectory.collocation,
            {
                "intervals": ("intervals", 3),
                "order": ("count", 3),
                "points": ("choice", "radau"),
                "duration": ("duration", 1.0),
            },
        ),
        "Problem.control": Call(
            lambda: cart().control,
            {
                "name": ("name", "u"),
                "lower": ("number", -1.0),
                "upper": ("number", 1.0),
                "degree": ("degree?", 1),
                "continuous": ("flag", False),
                "guess": number,
            },
        ),
        "Problem.start_at of a system": Call(lambda: cart().start_at, {"x": values}),
        "Problem.end_at of a system": Call(lambda: cart().end_at, {"x": values}),
    }
