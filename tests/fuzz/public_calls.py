"""Calls of public functions with right arguments, and of what kind each argument is."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import dynamics
import trajopt
from tests.fuzz.robots import ARM
from tests.fuzz.system_calls import Call, calls_of_systems

TWO = np.array([0.1, 0.2])


@functools.cache
def arm() -> Any:
    """Two revolute joints, named shoulder and elbow."""
    model = dynamics.load_urdf(ARM)
    return dynamics.RigidBodyModel(model.bodies[:2], frames=(dynamics.Frame("tip", "lower"),))


def problem() -> Any:
    found = trajopt.Problem(arm(), trajopt.Trajectory.uniform(4, duration=1.0))
    found.minimize(trajopt.tau**2)
    return found


@functools.cache
def solution() -> Any:
    question = problem()
    question.start_at(q=[0.0, 0.0], v=0.0)
    question.end_at(q=[0.5, 0.5], v=0.0)
    return trajopt.solve(question, coarse_to_fine=False)


@trajopt.term
def squares(node: Any) -> Any:
    return node.q * node.q


@functools.cache
def calls() -> dict[str, Call]:
    """All calls by the name that users write."""
    return {
        **_of_models(),
        **_of_parts(),
        **_of_problems(),
        **_of_settings(),
        **_of_solutions(),
        **_of_library(),
        **calls_of_systems(),
    }


def _of_models() -> dict[str, Call]:
    vector, model = ("array", TWO), ("object", arm())
    qva = {"q": vector, "v": vector, "a": vector}
    external, name = ("array?", np.zeros((2, 6))), ("name", "tip")
    arguments: dict[str, dict[str, tuple[str, Any]]] = {
        "rnea": {**qva, "external": external},
        "base_wrench": {**qva, "external": external},
        "joint_wrenches": {**qva, "external": external},
        "rnea_derivatives": {**qva, "external": external},
        "base_wrench_derivatives": {**qva, "external": external},
        "joint_wrench_derivatives": {**qva, "joints": ("name?", "elbow")},
        "rnea_second_derivatives": {**qva, "adjoint": vector, "base_adjoint": ("array?", np.zeros(6))},
        "aba": {"q": vector, "v": vector, "tau": vector, "external": external},
        "aba_derivatives": {"q": vector, "v": vector, "tau": vector, "external": external},
        "crba": {"q": vector},
        "coriolis_matrix": {"q": vector, "v": vector, "body_factor": ("choice", "plain")},
        "coriolis_product": {"q": vector, "v": vector, "w": vector},
        "coriolis_transposed_product": {"q": vector, "v": vector, "w": vector},
        "christoffel_symbols": {"q": vector},
        "christoffel_symbols_serial": {"q": vector},
        "external_derivatives": {"q": vector, "links": ("name?", "lower")},
        "forward_kinematics": {"q": vector, "frames": ("name?", "tip")},
        "frame_jacobian": {"q": vector, "frame": name},
        "frame_velocity": {"q": vector, "v": vector, "frame": name},
        "centre_of_mass": {"q": vector},
        "momentum": {"q": vector, "v": vector},
        "kinetic_energy": {"q": vector, "v": vector},
        "potential_energy": {"q": vector},
        "friction": {"v": vector, "smoothing": ("number", 0.1)},
        "joint_springs": {"q": vector, "stiffness": vector, "rest": vector},
        "point_spring": {
            "q": vector,
            "start": ("name", "upper"),
            "end": ("name", "tip"),
            "stiffness": ("number", 3.0),
            "length": ("number", 0.1),
        },
        "armature_error": {"trajectory": ("object", (TWO[None], TWO[None], TWO[None]))},
    }
    found = {
        f"dynamics.{name}": Call(lambda name=name: getattr(dynamics, name), {"model": model, **own})
        for name, own in arguments.items()
    }
    states = {"forward_dynamics": {"q": vector, "v": vector, "tau": vector}, "skeleton": {"q": vector}}
    states |= {"block": {"outputs": ("name", ("tau",)), "loads": ("name", ("lower",))}}
    states |= {"link_index": {"name": ("name", "lower")}, "frame": {"name": name}}
    states |= {
        "with_rotors": {"rotors": ("choice", "none")},
        "with_gravity": {"gravity": ("array", np.zeros(3))},
    }
    for method, own in states.items():
        found[f"RigidBodyModel.{method}"] = Call(lambda method=method: getattr(arm(), method), own)
    return found


def _of_parts() -> dict[str, Call]:
    three, matrix, number = ("array", np.array([0.0, 0.0, 1.0])), ("array", np.eye(3)), ("number", 0.5)
    joint = {
        "name": ("label", "j"),
        "kind": ("choice", "revolute"),
        "axis": three,
        "rotation": matrix,
        "position": three,
        "limits": ("object", dynamics.JointLimits()),
        "mimics": ("label?", None),
        "ratio": number,
        "offset": number,
        "damping": number,
        "friction": number,
        "rotor": ("object?", None),
    }
    body = {
        "name": ("label", "b"),
        "joint": ("object", dynamics.Joint("j")),
        "parent": ("label?", None),
        "mass": number,
        "centre_of_mass": three,
        "inertia": matrix,
    }
    rotor = {key: joint[key] for key in ("axis", "position")}
    rotor |= {"gear_ratio": number, "mass": number, "inertia": matrix, "centre_of_mass": three}
    row = {key: number for key in ("theta", "d", "a", "alpha", "mass", "ratio", "damping", "friction")}
    row |= {
        "kind": ("choice", "revolute"),
        "centre_of_mass": three,
        "inertia": matrix,
        "name": ("label?", "x"),
    }

    def joint_with_rotor(**own: Any) -> Any:
        return dynamics.Joint("j", rotor=dynamics.Rotor(**own))

    def joint_with_limits(**own: Any) -> Any:
        return dynamics.Joint("j", limits=dynamics.JointLimits(**own))

    limits = ("q_lower", "q_upper", "velocity", "torque_lower", "torque_upper")
    rows = [{"a": 1.0, "mass": 1.0}]
    return {
        "dynamics.Joint": Call(lambda: dynamics.Joint, joint),
        "dynamics.Body": Call(lambda: dynamics.Body, body),
        "dynamics.Rotor": Call(lambda: joint_with_rotor, rotor),
        "dynamics.JointLimits": Call(lambda: joint_with_limits, dict.fromkeys(limits, ("number", 0.0))),
        "dynamics.JointLimits.symmetric": Call(
            lambda: dynamics.JointLimits.symmetric,
            dict.fromkeys(("q", "velocity", "torque"), ("number", 1.0)),
        ),
        "dynamics.Frame": Call(
            lambda: dynamics.Frame,
            {"name": ("label", "f"), "body": ("label?", None), "rotation": matrix, "position": three},
        ),
        "dynamics.RigidBodyModel": Call(
            lambda: dynamics.RigidBodyModel,
            {
                "bodies": ("object", arm().bodies),
                "gravity": three,
                "name": ("label", "r"),
                "rotors": ("choice", "none"),
                "frames": ("object", ()),
            },
        ),
        "dynamics.DhRow": Call(lambda: lambda **own: dynamics.from_dh([dynamics.DhRow(**own)]), row),
        "dynamics.from_dh": Call(
            lambda: dynamics.from_dh,
            {
                "rows": ("object", rows),
                "gravity": three,
                "name": ("label", "r"),
                "base_rotation": ("array?", None),
                "base_position": ("array?", None),
            },
        ),
        "dynamics.load_urdf": Call(
            lambda: dynamics.load_urdf, {"path_or_xml": ("object", ARM), "gravity": three}
        ),
        "dynamics.RigidBodyModel.from_json": Call(
            lambda: dynamics.RigidBodyModel.from_json, {"text": ("object", arm().to_json())}
        ),
    }


def _of_problems() -> dict[str, Call]:
    term, name, vector = ("object", trajopt.tau), ("label?", "x"), ("array?", TWO)
    bounds = {"lower": vector, "upper": ("array?", np.array([1.0, 1.0]))}
    one = {"lower": ("array?", 0.0), "upper": ("array?", 1.0), "guess": ("array?", 0.5)}
    over = ("choice", "path")
    methods: dict[str, dict[str, tuple[str, Any]]] = {
        "minimize": {"term": term, "weight": ("number", 0.5), "over": ("choice?", "path"), "name": name},
        "subject_to": {"term": term, **bounds, "over": over, "name": name, "hold": ("choice", "nodes")},
        "start_at": dict.fromkeys("qva", ("values?", TWO)),
        "end_at": dict.fromkeys("qva", ("values?", TWO)),
        "subject_to_periodic": {
            "term": term,
            "signs": ("array?", np.ones(2)),
            "order": ("array?", [0, 1]),
            "offset": ("array?", TWO),
            "name": name,
        },
        "load": {"link": ("name", "lower"), "term": ("object", trajopt.wrench("elbow"))},
        "parameter": {"name": ("label", "p"), **one},
        "extra": {"name": ("label", "e"), "width": ("count", 2), **one},
        "data": {
            "name": ("label", "d"),
            "times": ("array", [0.0, 1.0]),
            "values": ("array", [0.0, 1.0]),
            "clock": ("choice", "seconds"),
        },
        "guess": {"q": ("samples?", np.zeros((3, 2))), "duration": ("number?", 1.0)},
        "recommend": {"solver": ("object", trajopt.Ipopt())},
        "on": {"trajectory": ("object", trajopt.Trajectory.uniform(3))},
        "width_of": {"quantity": ("name", "q")},
        "subject_to_joint_limits": dict.fromkeys(("position", "velocity", "torque"), ("flag", True)),
    }
    found = {
        f"Problem.{method}": Call(lambda method=method: getattr(problem(), method), own)
        for method, own in methods.items()
    }

    def locked(joint: Any, at: Any) -> None:
        problem().lock(joint, at=at)

    def passive(joint: Any, over: Any) -> None:
        problem().passive(joint, over=over)

    def position_of(name: Any) -> None:
        problem().minimize(trajopt.position(name))

    def wrench_of(name: Any) -> None:
        problem().minimize(trajopt.wrench(name))

    return found | {
        "Problem.lock": Call(lambda: locked, {"joint": ("name", "elbow"), "at": ("number", 0.5)}),
        "Problem.passive": Call(lambda: passive, {"joint": ("name", "elbow"), "over": over}),
        "trajopt.position": Call(lambda: position_of, {"name": ("name", "tip")}),
        "trajopt.wrench": Call(lambda: wrench_of, {"name": ("name", "elbow")}),
        "trajopt.Problem": Call(
            lambda: trajopt.Problem,
            {
                "dynamics": ("object", arm()),
                "trajectory": ("object?", trajopt.Trajectory.uniform(3)),
                "name": ("label", "x"),
            },
        ),
        "trajopt.term": Call(
            lambda: lambda function: problem().minimize(trajopt.term(function)),
            {"function": ("object", squares.function)},
        ),
        "trajopt.transcribe": Call(lambda: trajopt.transcribe, {"problem": ("object", problem())}),
    }


def _of_settings() -> dict[str, Call]:
    count, number = ("count", 4), ("number", 0.5)
    uniform = {
        "intervals": count,
        "degree": ("count", 3),
        "duration": ("duration", 0.5),
        "nodes_per_span": count,
    }
    basis = trajopt.SplineBasis.uniform(3)
    arc = {
        "basis": ("object", basis),
        "duration": ("duration", 0.5),
        "nodes_per_span": count,
        "rule": ("choice", "lobatto"),
    }
    ipopt = {
        "tol": number,
        "max_iterations": count,
        "time_limit": ("number?", 1.0),
        "hessian": ("choice", "lbfgs"),
        "options": ("object", {}),
        "feasibility": number,
    }
    interior = {name: ipopt[name] for name in ("tol", "max_iterations", "time_limit", "feasibility")}
    slsqp = {"tol": number, "max_iterations": count}
    return {
        "Trajectory.uniform": Call(lambda: trajopt.Trajectory.uniform, uniform),
        "trajopt.Arc": Call(lambda: trajopt.Arc, arc),
        "trajopt.Trajectory": Call(
            lambda: trajopt.Trajectory,
            {"arcs": ("object", (trajopt.Arc(basis),)), "continuity": ("count", 1)},
        ),
        "SplineBasis.uniform": Call(
            lambda: trajopt.SplineBasis.uniform, {"intervals": count, "degree": ("count", 3)}
        ),
        "SplineBasis.clamped": Call(
            lambda: trajopt.SplineBasis.clamped,
            {
                "breakpoints": ("array", [0.0, 0.5, 1.0]),
                "degree": ("count", 3),
                "multiplicities": ("array?", [1]),
            },
        ),
        "trajopt.Ipopt": Call(lambda: trajopt.Ipopt, ipopt),
        "trajopt.InteriorPoint": Call(lambda: trajopt.InteriorPoint, interior),
        "trajopt.Slsqp": Call(lambda: trajopt.Slsqp, slsqp),
        "trajopt.ConstraintGeneration": Call(
            lambda: trajopt.ConstraintGeneration, {"solver": ("object", trajopt.Ipopt())}
        ),
        "trajopt.Certified": Call(lambda: trajopt.Certified, {"tol": number}),
        "trajopt.Checkpointed": Call(
            lambda: lambda solver: trajopt.Checkpointed(solver, "point.npz"),
            {"solver": ("object", trajopt.Ipopt())},
        ),
    }


def _of_solutions() -> dict[str, Call]:
    t = {"t": ("times", [0.1, 0.2])}
    found = {f"Solution.{name}": Call(lambda name=name: getattr(solution(), name), t) for name in "qva"}
    found |= {
        f"Solution.{name}": Call(lambda name=name: getattr(solution(), name), t)
        for name in ("jerk", "tau", "wrench")
    }
    solver = ("object?", trajopt.Ipopt(max_iterations=2))
    solve = {
        "problem": ("object", problem()),
        "solver": solver,
        "refine": ("object?", None),
        "starts": ("count", 1),
        "time_limit": ("number?", 1.0),
        "progress": ("display", "silent"),
        "coarse_to_fine": ("flag", False),
    }
    return found | {
        "Solution.value": Call(lambda: solution().value, {"term": ("object", trajopt.q), **t}),
        "Solution.verify": Call(lambda: solution().verify, {"accuracy": ("number?", None)}),
        "Solution.save": Call(lambda: solution().save, {"path": ("path", "x.npz")}),
        "Solution.load": Call(lambda: trajopt.Solution.load, {"path": ("path", "none.npz")}),
        "trajopt.solve": Call(lambda: trajopt.solve, solve),
        "trajopt.diagnose": Call(lambda: trajopt.diagnose, {"problem": ("object", problem())}),
        "trajopt.multistart": Call(
            lambda: trajopt.multistart,
            {
                "source": ("builder", problem),
                "starts": ("count", 1),
                "processes": ("count?", 1),
                "spread": ("number", 0.1),
            },
        ),
        "trajopt.solve_many": Call(
            lambda: trajopt.solve_many,
            {
                "problems": ("object", [problem()]),
                "processes": ("count?", 1),
                "anew": ("flag", False),
                "time_limit": ("number?", 1.0),
            },
        ),
    }


def _of_library() -> dict[str, Call]:
    """Functions of `trajopt.library` that make terms, used once in a problem."""
    makers: dict[str, dict[str, tuple[str, Any]]] = {
        "sphere_clearance": {
            "frame": ("name", "tip"),
            "centre": ("array", np.ones(3)),
            "radius": ("number", 0.1),
            "own_radius": ("number", 0.1),
        },
        "manipulability": {"dynamics": ("object", arm()), "frame": ("name", "tip")},
    }
    found = {}
    for name, own in makers.items():
        make = getattr(trajopt.library, name)
        found[f"library.{name}"] = Call(
            lambda make=make: lambda **given: problem().minimize(make(**given)), own
        )
    return found
