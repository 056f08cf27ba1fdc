"""Problems of the library solved as they are, each once in a process, and the scripts that draw them."""

import functools
import runpy
from pathlib import Path

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


@functools.cache
def built_at_defaults(name):
    """A problem of the library; no test changes it."""
    return catalogue.build(name, {})


@functools.cache
def solved_at_defaults(name):
    solution = trajopt.solve(built_at_defaults(name), progress="silent")
    assert solution.converged, solution.status
    return solution


@functools.cache
def verified_at_defaults(name):
    return solved_at_defaults(name).verify()


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
