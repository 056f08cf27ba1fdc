"""Where figures are drawn: on new ones, with and without pyplot, on those of the caller, on his axes."""

# The stubs of matplotlib say ArrayLike and Axes for what are arrays and axes of three dimensions.
# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false

import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from tiers import fast_first

import problems
import trajopt
from trajopt.base.errors import OptionError

ROOT = Path(__file__).parents[3]
PANELS = {"torques": 2, "joint_forces": 1, "joints": 6, "motion": 1}


@pytest.fixture(scope="module")
def rr():
    return trajopt.solve(problems.two_link_rr.build(intervals=10))


@fast_first("name", PANELS, 2)
def test_a_figure_or_a_part_of_one_is_drawn_on_and_gets_no_title(rr, name):
    figure = Figure(layout="constrained")
    left, right = figure.subfigures(1, 2)  # pyright: ignore
    draw = getattr(trajopt.plot, name)
    assert draw(rr, figure=left) is left and draw(rr, figure=right) is right
    assert len(left.axes) == len(right.axes) >= PANELS[name]
    assert figure.get_suptitle() == left.get_suptitle() == ""


@fast_first("name", PANELS, 2)
def test_axes_of_the_caller_are_drawn_on(rr, name):
    figure = Figure()
    axes = figure.subplots(PANELS[name], 1, squeeze=False)
    assert getattr(trajopt.plot, name)(rr, ax=axes if PANELS[name] > 1 else axes[0, 0]) is figure
    assert all(axis.lines for axis in axes.flat)


def test_one_torque_is_drawn_beside_a_curve_of_the_caller(rr):
    axis = Figure().subplots()
    axis.plot([0.0, rr.duration], [1.0, 1.0])
    trajopt.plot.torques(rr, joints=["elbow"], ax=axis)
    drawn = axis.lines[1]
    assert np.allclose(drawn.get_ydata(), rr.tau(np.asarray(drawn.get_xdata()))[:, 1])
    assert axis.get_xlabel() == "time (s)" and axis.get_ylabel() == "torque (N m)"


@pytest.mark.long
def test_a_notebook_stays_interactive_after_the_first_figure(tmp_path):
    """Its backend switches pyplot to interactive as it is loaded; the style of a figure must not undo it."""
    (tmp_path / "inline.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\nmatplotlib.interactive(True)\n"
    )
    program = (
        "import matplotlib, matplotlib.pyplot as plt, problems, trajopt\n"
        "trajopt.plot.torques(trajopt.solve(problems.two_link_rr.build(intervals=6), starts=1))\n"
        "assert matplotlib.is_interactive() and plt.rcParams['font.size'] == 10.0\n"
    )
    places = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "MPLBACKEND": "module://inline", "PYTHONPATH": places}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=tmp_path)


def test_wrong_places_are_refused(rr):
    axes = Figure().subplots(3, 1)
    with pytest.raises(OptionError, match=r"ax has 3 axes for 2 panels .torque of shoulder, torque"):
        trajopt.plot.torques(rr, ax=axes)
    with pytest.raises(OptionError, match="ax is 'left': give matplotlib Axes"):
        trajopt.plot.torques(rr, ax="left")
    with pytest.raises(OptionError, match="figure is 3: give a matplotlib Figure or SubFigure"):
        trajopt.plot.motion(rr, figure=3)
    with pytest.raises(OptionError, match="figure and ax are both given"):
        trajopt.plot.joints(rr, figure=Figure(), ax=axes[0])
    with pytest.raises(
        OptionError, match=r"no curve of a joint is called 'velocty' .did you mean 'velocity'"
    ):
        trajopt.plot.joints(rr, curves=["velocty"])


def test_with_pyplot_a_new_figure_is_one_that_show_shows(rr):
    before = plt.get_fignums()
    figure = trajopt.plot.torques(rr)
    assert len(plt.get_fignums()) == len(before) + 1 and plt.gcf() is figure
    plt.close(figure)


@pytest.mark.long
def test_without_pyplot_a_new_figure_belongs_to_nobody(tmp_path):
    code = (
        "import sys, gc, weakref, trajopt, problems\n"
        "solution = trajopt.solve(problems.double_integrator.build())\n"
        "figure = trajopt.plot.joints(solution)\n"
        f"figure.savefig({str(tmp_path / 'figure.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "gone = weakref.ref(figure); del figure; gc.collect(); assert gone() is None\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_notebook_shows_a_figure_of_pyplot_once(rr, monkeypatch):
    shown = []
    display = type(sys)("IPython.display")
    display.display, display.Image = shown.append, lambda data: data
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    figure = trajopt.plot.torques(rr)
    with pytest.raises(NotImplementedError):  # a console prints it as any other object
        figure._ipython_display_()
    monkeypatch.setattr("trajopt.plot.canvas.in_notebook", lambda: True)
    figure._ipython_display_()
    assert shown[0].startswith(b"\x89PNG") and figure.number not in plt.get_fignums()
