"""The plot that turns: everything around a motion has a trace of its kind."""

from itertools import product

import numpy as np

from trajopt.plot.snapshots import Hull, Scene
from trajopt.report.motion_section import turning_plot
from trajopt.terms.term import Capsule, Target


def test_solids_obstacles_and_targets_are_drawn():
    corners = np.array(list(product((0.0, 1.0), (0.0, 2.0), (0.0, 3.0))))
    around = (Hull(corners), Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.1), Target("tool", (1.0, 2.0, 3.0)))
    times, lines = np.array([0.0, 1.0]), np.zeros((2, 1, 2, 3))
    scene = Scene(times=times, lines=lines, path=np.zeros((2, 3)), around=around, planes=[(0, 2)])
    kinds = [trace["type"] for trace in turning_plot(scene)["data"]]
    assert kinds[3:] == ["mesh3d", "surface", "scatter3d"]
    mesh = turning_plot(scene)["data"][3]
    assert [max(mesh[axis]) for axis in "xyz"] == [1.0, 2.0, 3.0]
