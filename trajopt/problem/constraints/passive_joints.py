"""Joints without motors: their torque is zero, an equation of the robot that every motion must satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from trajopt.base.errors import OptionError
from trajopt.graph.protocols.dynamics import Dynamics
from trajopt.graph.quantities import described_joints
from trajopt.problem.input_checks import index_of
from trajopt.splines.node_sets import PATH, NodeSet
from trajopt.terms.arithmetic import Combination, Squared, factor_of
from trajopt.terms.term import ExpressionTerm


def passive_torques(problem: Any, joints: Sequence[str], part: NodeSet) -> list[tuple[str, ExpressionTerm]]:
    """The torques that vanish over a part of the motion; see `Problem.passive`, also for errors."""
    if part.is_difference:
        raise OptionError(f"joints cannot be passive over {part}: use 'path', a window or an arc")
    if not joints:
        raise OptionError("no joint is named: use, for example, problem.passive('pole')")
    names = problem.dynamics.joint_names
    places = [index_of(joint, names) for joint in joints]
    for number, joint in enumerate(joints):
        before = problem.passive_joints.get(joint, ())
        if joint in joints[:number] or part in before or PATH in before or (before and part == PATH):
            raise OptionError(f"the joint '{joint}' is passive already: name it once")
    units = problem.quantity_units("tau", len(names))
    several = zip(joints, places, strict=True)
    return [(joint, _torque(joint, place, units[place])) for joint, place in several]


def of_motors(problem: Any, term: Any) -> Any:
    """A cost's term without the squared torques of joints that nothing ever drives.

    They are zero where equations hold; counted, they would outweigh those of motors before that, by a million
    times for a robot on legs, and add what equations miss between nodes. Where nothing drives any joint the
    term stays: no unknown would be left in it.
    """
    never = {joint for joint, parts in problem.passive_joints.items() if PATH in parts}
    never = never if len(never) < len(problem.dynamics.joint_names) else set()
    parts = term.parts if isinstance(term, Combination) else ((1.0, term),)
    if not never or not any(_is_squared_torque(part) for _, part in parts):
        return term
    driven = np.array([joint not in never for joint in problem.dynamics.joint_names], dtype=float)
    return Combination(
        tuple(
            (factor_of(np.multiply(factor, driven)) if _is_squared_torque(part) else factor, part)
            for factor, part in parts
        )
    )


def _is_squared_torque(term: Any) -> bool:
    return isinstance(term, Squared) and term.base.quantity == "tau"


def refuse_springs(dynamics: Dynamics, designs: Iterable[str], passive: Iterable[str]) -> None:
    """OptionError for a passive joint whose spring would be left out: tau is the transmitted torque."""
    sprung = {each.name for each in described_joints(dynamics) if getattr(each, "stiffness", 0.0)}
    sprung |= {name.removesuffix(".stiffness") for name in designs if name.endswith(".stiffness")}
    for joint in passive:
        if joint in sprung:
            place = list(dynamics.joint_names).index(joint)
            raise OptionError(
                f"the joint '{joint}' has a spring, which is no part of tau, so it cannot be passive: bound "
                f"a term that returns node.motor_torque[{place}] by equals=0.0"
            )


def _torque(joint: str, index: int, unit: str) -> ExpressionTerm:
    """tau_j under the problem's loads, (1,)."""
    return ExpressionTerm(partial(_torque_at, index), f"torque at {joint}", unit=unit)


def _torque_at(index: int, node: Any) -> Any:
    return node.tau[index]
