"""Rows of a closed loop: derivatives, work of its forces, and rows that repeat others."""

import numpy as np
import pytest
from closed_linkage import chain, linkage, times_of
from numpy.testing import assert_allclose
from tiers import fast_first

import dynamics
import trajopt


def node_of(model, closure, q, v, **curves):
    """A node of numbers, as a term reads it."""

    class Node:
        def __init__(self):
            names = [closure.frame_a, closure.frame_b]
            wanted = [
                f"{what}:{frame}" for what in ("position", "orientation", "velocity") for frame in names
            ]
            self.values = model.block(wanted).value({"q": q[None], "v": v[None]})

        def position(self, frame):
            return self.values[f"position:{frame}"][0]

        def orientation(self, frame):
            return self.values[f"orientation:{frame}"][0]

        def velocity(self, frame):
            return self.values[f"velocity:{frame}"][0]

        def extra(self, name):
            return curves[name]

    return Node()


def rotation_between(model, a, b, q):
    found = dynamics.forward_kinematics(model, q, frames=[a, b]).rotation
    return found[0].T @ found[1]


@fast_first("first", ["first", "base"])
@pytest.mark.parametrize(
    ("kind", "axis", "width"),
    [
        ("point", None, 3),
        pytest.param("pin", (0, 0, 2), 5, marks=pytest.mark.long),
        ("pin", (1, -2, 0.5), 5),
        ("weld", None, 6),
    ],
)
def test_the_gap_changes_as_its_velocity_says_and_forces_do_its_work(first, kind, axis, width):
    rng = np.random.default_rng(4)
    model = chain(rng)
    q, v = rng.uniform(-1.0, 1.0, (2, model.n))
    problem = trajopt.Problem(model, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    rotation = rotation_between(model, first, "tip", q)
    closure = problem.close_loop(first, "tip", kind, axis=axis, rotation=rotation, near=q)
    assert closure.kept == tuple(range(width)) and closure.left_out == ()
    pose = closure.pose
    assert np.abs(closure.misfit.function(node_of(model, closure, pose, v))).max() < 1e-9

    def gap(t):
        return np.array(closure.gap.function(node_of(model, closure, pose + t * v, v)), dtype=float)

    speed = np.array(closure.speed.function(node_of(model, closure, pose, v)), dtype=float)
    step = 1e-5
    assert_allclose((gap(step) - gap(-step)) / (2.0 * step), speed, atol=1e-8)

    values = {name: rng.normal(size=len(rows)) for name, rows in closure.curves.items()}
    node = node_of(model, closure, pose, v, **values)
    on_a, on_b = (np.array(f(node), dtype=float) for f in (closure.wrench_on_a, closure.wrench_on_b))
    assert_allclose(on_a, -on_b, atol=0.0)
    power = 0.0
    for link, wrench in ((closure.link_a, on_a), (closure.link_b, on_b)):
        if link is not None:
            external = np.zeros((1, model.link_count, 6))
            external[0, model.link_index(link)] = wrench
            still = np.zeros((1, model.n))
            loaded = dynamics.rnea(model, pose[None], still, still, external)
            power -= float(((loaded - dynamics.rnea(model, pose[None], still, still)) @ v)[0])
    assert power == pytest.approx(float(np.concatenate(list(values.values())) @ speed), rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "axis", "kept", "left"),
    [
        ("point", None, (0, 1), ("z",)),
        ("pin", (0, 0, 1), (0, 1), ("z", "about x", "about y")),
    ],
)
def test_rows_across_the_plane_repeat_others_and_are_named(kind, axis, kept, left):
    _, closure = linkage(2, 3, kind=kind, axis=axis)
    assert closure.kept == kept and closure.left_out == left


@pytest.mark.long
def test_two_parallel_rockers_need_no_row_but_one():
    """A parallelogram with a third crank turns although its constraints outnumber its freedoms."""

    def rod(name, parent, at, length):
        joint = dynamics.Joint(f"{name}_joint", position=np.array(at))
        return dynamics.Body(name, joint, parent, 1.0, (length / 2, 0, 0), 0.01 * np.eye(3))

    bodies = [
        rod("first", None, (0, 0, 0), 0.3),
        rod("second", None, (0.5, 0, 0), 0.3),
        rod("third", None, (1.0, 0, 0), 0.3),
        rod("bar", "first", (0.3, 0, 0), 1.0),
    ]
    frames = [
        dynamics.Frame(f"{name} end", name, position=np.array([0.3, 0, 0])) for name in ("second", "third")
    ]
    frames += [dynamics.Frame(f"{x} m", "bar", position=np.array([x, 0.0, 0.0])) for x in (0.5, 1.0)]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), "legs", frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(4, 4, duration=1.0))
    near = [1.0, 1.0, 1.0, -1.0]
    one = problem.close_loop("second end", "0.5 m", near=near)
    two = problem.close_loop("third end", "1.0 m", near=near)
    assert len(one.kept) == 2 and len(two.kept) == 1 and "z" in two.left_out
    problem.passive("second_joint", "third_joint", "bar_joint")
    problem.start_at(q=[1.0, None, None, None], v=0.0)
    problem.end_at(q=[1.5, None, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    t = times_of(solution)
    assert solution.converged
    assert max(np.abs(solution.value(each.misfit, t)).max() for each in (one, two)) < 1e-6
