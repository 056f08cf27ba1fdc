"""Joints without motors: their torque is zero, an equation of the robot that every motion must satisfy.

Of a joint with a spring or a damper it is the motor's torque beside them that is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.errors import OptionError
from trajopt.graph.protocols.dynamics import Dynamics
from trajopt.graph.quantities import TORQUES, described_joints, has_springs
from trajopt.problem.input_checks import index_of
from trajopt.splines.node_sets import PATH, NodeSet
from trajopt.terms.arithmetic import Combination, Squared, factor_of
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.protocols.term import Term
    from trajopt.graph.trace import NodeSymbols

TORQUE_LIMITS = "torque limits"  # the name of those of the robot
OF_SPRINGS = "stiffness", "rest", "damping"  # what a design may say of a joint's spring and damper


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
    sprung = sprung_joints(problem.dynamics, problem.designs)
    return [
        (joint, _torque(joint, place, units[place], joint in sprung))
        for joint, place in zip(joints, places, strict=True)
    ]


def of_motors(problem: Any, term: Term) -> Any:
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


def _is_squared_torque(term: Term) -> bool:
    return isinstance(term, Squared) and term.base.quantity in TORQUES


def sprung_joints(dynamics: Dynamics, designs: Iterable[str]) -> set[str]:
    """The joints with a spring or a damper, of the robot as it is or by a design."""
    sprung = {joint.name for joint in described_joints(dynamics) if has_springs(joint)}
    of_designs = (name.rpartition(".") for name in designs)
    return sprung | {joint for joint, _, kind in of_designs if kind in OF_SPRINGS}


def refuse_late_spring(problem: Any, design: str) -> None:
    """OptionError for the design of a joint's first spring after what was stated as if there were none."""
    for joint in sprung_joints(problem.dynamics, [design]) - sprung_joints(problem.dynamics, problem.designs):
        limited = any(c.name == TORQUE_LIMITS and c.term.quantity == "tau" for c in problem.constraints)
        done = "problem.passive" if joint in problem.passive_joints else "problem.subject_to_joint_limits"
        if joint in problem.passive_joints or limited:
            raise OptionError(
                f"'{design}' is designed after {done}, which took the joint '{joint}' to have no spring or "
                f"damper: call problem.design before {done}"
            )


def _torque(joint: str, index: int, unit: str, sprung: bool) -> ExpressionTerm:
    """tau_j under the problem's loads, or the torque of the motor beside springs and dampers, (1,)."""
    function = partial(_motor_torque_at if sprung else _torque_at, index)
    return ExpressionTerm(function, f"torque at {joint}", unit=unit)


def _torque_at(index: int, node: NodeSymbols) -> Expression:
    return node.tau[index]


def _motor_torque_at(index: int, node: NodeSymbols) -> Expression:
    return node.motor_torque[index]
