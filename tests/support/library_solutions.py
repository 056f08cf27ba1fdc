"""Problems of the library solved as they are, each once in a run of tests, and the scripts that draw them."""

import functools
import os
import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import trajopt
from problems import catalogue

SCRIPTS = {
    path.stem.removeprefix("plot_"): path
    for path in (Path(__file__).parents[2] / "docs" / "gallery").glob("plot_*.py")
}
#: scripts that solve a problem at its defaults, which tests of the problem solve anyway and pass on
AT_DEFAULTS = {
    "biped_step": "biped_step",
    "brachistochrone": "brachistochrone",
    "cart_pole": "cart_pole",
    "container_crane": "container_crane",
    "five_link_walker": "five_link_walker",
    "four_bar": "four_bar",
    "goddard_rocket": "goddard_rocket",
    "hop": "hop",
    "one_legged_hopper": "one_legged_hopper",
    "orbit_transfer": "orbit_transfer",
    "planar_walker": "walk",
    "quadrotor_gates": "quadrotor",
    "quadruped_jump": "quadruped_jump",
    "quadruped_trot": "quadruped_trot",
    "two_arms": "two_arms",
    "van_der_pol": "van_der_pol",
}


def once_in_a_run(name: str, make: Callable[[], Any]) -> Any:
    """`make()`, or the copy of it that another process of the same run of tests has left under this name.

    A process that finds none computes its own without waiting for one that may be at it.
    """
    folder = os.environ.get("TRAJOPT_TESTS_SHARE")  # by conftest.py, where tests run in several processes
    if folder is None:
        return make()
    kept = Path(folder) / name
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    made = make()
    written = kept.with_name(f"{name}.{os.getpid()}")
    written.write_bytes(cloudpickle.dumps(made))
    written.replace(kept)
    return made


@functools.cache
def built_at_defaults(name):
    """A problem of the library; no test changes it."""
    return catalogue.build(name, {})


@functools.cache
def solved_at_defaults(name):
    def solve():
        return trajopt.solve(built_at_defaults(name), progress="silent")

    solution = once_in_a_run(f"{name} solved", solve)
    assert solution.converged, solution.status
    return solution


@functools.cache
def verified_at_defaults(name):
    return once_in_a_run(f"{name} verified", lambda: solved_at_defaults(name).verify())


def check_script(name):
    """The script of the gallery draws a converged solution."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    plt.switch_backend("agg")
    names = runpy.run_path(str(SCRIPTS[name]))
    open_figures = plt.get_fignums()
    plt.close("all")
    assert open_figures or any(isinstance(value, Figure) for value in names.values())
    assert names["solution"].converged if "solution" in names else names["front"][-1].solution.converged


def check_script_at_defaults(solution):
    """The script of the gallery that asks for this solution draws it; True where there is one."""
    name = AT_DEFAULTS.get(solution.recipe.problem)
    if name is None:
        return False
    asked = []

    def given(problem, **_):
        asked.append(problem.recipe)
        return solution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajopt, "solve", given)
        check_script(name)
    assert asked == [solution.recipe]
    return True
