"""The command `trajopt show`: what is in a saved solution, a problem or a robot, without solving."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from problems.cli.command_errors import Complaint, explained
from problems.cli.commands.retime import REPAIR_HELP
from problems.cli.completion import ShownFile, settings_option
from problems.cli.output import Output, output_options

URDF = (".urdf", ".xacro")  # the last is refused by that word
ROBOTS = (*URDF, ".osim", ".xml", ".mjcf")  # of MuJoCo the last two


@click.command()
@click.argument("file", metavar="FILE_OR_NAME", type=ShownFile())
@settings_option("Parameter of a problem; may repeat.")
@click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP)
@click.option("--strict", is_flag=True, help="What a robot leaves out of its file is an error.")
@output_options("json", "verbose")
@explained
def show(file: str, assignments: Sequence[str], repair_inertia: bool, strict: bool, output: Output) -> None:
    """Show a saved solution (or its folder), a problem before it is solved, or a robot.

    A solution: how its solve ended, with which parameters. A problem by name or FILE.py: costs, constraints,
    unknowns and counts; the file runs with your rights. A FILE.urdf, .osim of OpenSim, or .xml of MuJoCo:
    links, joints, limits, and a line for everything that the robot leaves out of its file.
    """
    from problems import catalogue
    from problems.cli.problem_file import is_problem_file

    path = Path(file)
    if path.suffix.lower() in ROBOTS:
        refuse_settings(assignments, "a robot")
        show_robot(path, output, repair_inertia=repair_inertia, strict=strict)
    elif path.suffix == ".py" or (file in catalogue.names() and not path.exists()):
        show_problem(file, assignments, output)
    elif is_problem_file(file) and not path.exists():
        from trajopt.base.errors import OptionError
        from trajopt.base.files import near_files

        near = near_files(path, (".npz", ".py", *ROBOTS))
        raise OptionError(f"{file} does not exist{near}: give a solution, a problem file or a robot")
    elif path.exists():
        refuse_settings(assignments, "a saved solution")
        show_solution(path, output)
    else:
        catalogue.module(file)  # says which names are near


def refuse_settings(assignments: Sequence[str], what: str) -> None:
    """Raise Complaint where parameters were given to what has none."""
    if assignments:
        raise Complaint(f"--set is for problems: {what} is as it is")


def show_solution(path: Path, output: Output) -> None:
    """The facts of a saved solution and the parameters it was solved with; no problem is built."""
    from problems.cli.commands.saved_solution import read
    from problems.cli.summary import summary

    solution = read(path)
    output.answer(repr(solution))
    recipe = solution.recipe
    if recipe is not None:
        output.answer(f"parameters of {recipe.problem}: {assigned(recipe.parameters) or 'none'}")
    if solution.run is not None:
        versions = ", ".join(f"{name} {version}" for name, version in solution.run.versions.items())
        output.detail(f"found with {versions}, by {solution.run.solver}")
    output.values(summary(solution, None))


def show_problem(name: str, assignments: Sequence[str], output: Output) -> None:
    """The summary of a problem, or the facts of phases."""
    from problems.cli.literal import parameters_of
    from problems.cli.problem_file import build_named
    from trajopt import Problem
    from trajopt.problem.phases import phases_facts

    problem = build_named(name, parameters_of(assignments))
    recipe: Any = problem.recipe
    described: Any = problem.summary() if isinstance(problem, Problem) else phases_facts(problem)
    output.answer(str(described))
    output.answer(f"parameters: {assigned(recipe.parameters) or 'none'}")
    content: dict[str, Any] = {"problem": recipe.problem, "parameters": dict(recipe.parameters)}
    if isinstance(problem, Problem):
        counts = ("variables", "eliminated", "equations", "inequalities", "bounded", "jacobian", "hessian")
        content |= {count: getattr(described, count) for count in counts}
        for part in ("costs", "constraints", "unknowns"):
            content[part] = [asdict(line) for line in getattr(described, part)]
    output.values(content)


def show_robot(path: Path, output: Output, repair_inertia: bool, strict: bool) -> None:
    """The table of a robot's links and joints, and what it leaves out of its file."""
    import dynamics
    from trajopt.base.errors import OptionError
    from trajopt.base.files import near_files

    if not path.is_file():
        raise OptionError(f"{path} is not a file{near_files(path, ROBOTS)}: give the path of a robot's file")
    if path.suffix.lower() in URDF:
        model = dynamics.load_urdf(path, repair_inertia=repair_inertia, strict=strict)
    elif path.suffix.lower() == ".osim":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dynamics.OsimWarning)  # the lines say the same
            osim = dynamics.load_osim(path, repair_inertia=repair_inertia)
        lines = [f"{what}: {', '.join(names)}" for what, names in osim.left_out.items()]
        if strict and lines:
            raise OptionError(f"strict: {path} holds what is no part of the robot: {'; '.join(lines)}")
        tree = osim.robot.tree if isinstance(osim.robot, dynamics.CoupledModel) else osim.robot
        output.answer(f"{tree}\n{osim}")
        output.values({"robot": tree.name, "joints": list(osim.robot.joint_names), "left_out": lines})
        return
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dynamics.MujocoWarning)  # the lines say the same
            model = dynamics.from_mujoco(path, strict=strict)
    output.answer(str(model))
    names = {"joints": list(model.joint_names), "left_out": list(model.left_out)}
    output.values({"robot": model.name, **names})


def assigned(parameters: Any) -> str:
    """Parameters as `--set` takes them."""
    from problems.cli.commands.list_problems import spelled

    return ", ".join(f"{name}={spelled(value)}" for name, value in parameters.items())
