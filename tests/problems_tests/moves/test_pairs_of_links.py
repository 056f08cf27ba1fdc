"""Pairs of links that a clearance covers: those of the file's joints, whatever is fixed, merged or locked."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import dynamics
from dynamics.quantities.shape_pairs import FIXED, GROUND, MEET, apart_in_all_poses
from problems import moves
from problems.moves.obstacles import clearances_of
from problems.moves.tasks.robot import carrying
from trajopt.base import errors

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-3" upper="3" velocity="2" effort="100"/>'


def link(name, radius=0.0, at="0 0 0", element="collision"):
    solid = f'<{element}><origin xyz="{at}"/><geometry><sphere radius="{radius}"/></geometry></{element}>'
    return f'<link name="{name}">{INERTIAL}{solid if radius else ""}</link>'


def joint(name, kind, parent, child, axis="0 0 1", at="0 0 0"):
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}' + (
        "</joint>" if kind == "fixed" else f'<axis xyz="{axis}"/>{LIMIT}</joint>'
    )


def robot_of(*parts, **options):
    return moves.robot(f'<robot name="r">{"".join(parts)}</robot>', shapes="fit", **options)


ARM = (
    link("base", 0.1),
    link("l1", 0.08, "0 0 .2"),
    link("l2", 0.05, "0 0 .25"),
    link("l3", 0.08, "0 0 .45"),
    joint("j1", "revolute", "base", "l1", at="0 0 .1"),
    joint("j2", "revolute", "l1", "l2", "0 1 0", "0 0 .2"),
    joint("j3", "revolute", "l2", "l3", "0 1 0", "0 0 .5"),
)


def names_of(clearances):
    return [frozenset(clearances.pair_name(pair).split(" and ")) for pair in range(len(clearances))]


def test_what_the_file_fixes_to_the_world_is_no_neighbour_of_what_moves_on_it():
    rail = robot_of(
        link("world"),
        link("wall", 0.1),
        link("carriage", 0.1),
        joint("f", "fixed", "world", "wall", at="1 0 0"),
        joint("slide", "prismatic", "world", "carriage", "1 0 0"),
    )
    assert names_of(dynamics.Clearances(rail.model, moves.Scene())) == [{"carriage", "wall"}]
    task = moves.Task(rail)
    task.start(q=[0.0])
    task.to(q=[1.0])
    with pytest.raises(errors.InfeasibleBoundsError, match=r"goal 1: carriage and wall overlap by 0\.2 m"):
        task.solve()


@pytest.mark.parametrize("locked", [{}, {"j2": 0.0}, {"j1": 0.3}, {"j3": 0.2}])
def test_a_locked_joint_takes_no_pair_away_that_moves(locked):
    found = dynamics.Clearances(robot_of(*ARM, locked=locked).model, moves.Scene())
    together = {"j1": {"base", "l1"}, "j2": {"l1", "l2"}, "j3": {"l2", "l3"}}
    still = [together[name] for name in locked]
    wanted = [{"base", "l2"}, {"base", "l3"}, {"l1", "l3"}]
    assert sorted(map(sorted, names_of(found))) == sorted(map(sorted, wanted))
    assert {frozenset((each.first, each.second)) for each in found.left_out if each.reason == FIXED} == set(
        map(frozenset, still)
    )


def random_robot(rng):
    """A tree of ten links with joints of random types, all with shapes, and some joints locked."""
    kinds = ("fixed", "revolute", "prismatic", "continuous", "planar")
    chosen = [str(rng.choice(kinds, p=(0.4, 0.3, 0.1, 0.1, 0.1))) for _ in range(9)]
    chosen[rng.integers(9)] = "revolute"
    parts = [link("n0", 0.02, "0 0 .1")]
    ends = []
    for k, kind in enumerate(chosen, 1):
        parent, at = f"n{rng.integers(k)}", " ".join(f"{x:.3f}" for x in rng.uniform(-0.5, 0.5, 3))
        axis = " ".join(f"{x:.3f}" for x in rng.normal(size=3))
        parts += [link(f"n{k}", 0.02, "0 .1 0"), joint(f"j{k}", kind, parent, f"n{k}", axis, at)]
        ends.append((kind, frozenset((parent, f"n{k}"))))
    text = f'<robot name="r">{"".join(parts)}</robot>'
    free = dynamics.load_urdf(text)
    names = [name for name in free.joint_names if rng.random() < 0.4][: free.n - 1]
    return moves.robot(text, locked=dict.fromkeys(names, 0.0), shapes="fit").model, ends


@pytest.mark.long
def test_every_pair_of_thirty_robots_is_checked_or_left_out_with_a_reason_that_is_true():
    rng = np.random.default_rng(5)
    for _ in range(30):
        model, ends = random_robot(rng)
        found = dynamics.Clearances(model, moves.Scene())
        q = rng.uniform(-1.0, 1.0, (5, model.n))
        checked, out = names_of(found), {}
        for each in found.left_out:
            out[frozenset((each.first, each.second))] = each.reason
        every = {frozenset(pair) for pair in itertools.combinations([f"n{k}" for k in range(10)], 2)}
        assert set(checked) | set(out) == every and not set(checked) & set(out)
        for pair, reason in out.items():
            if reason == MEET:
                assert any(pair == both and kind != "fixed" for kind, both in ends)
            elif reason == FIXED:
                poses = dynamics.forward_kinematics(model, q, sorted(pair))
                inner = np.einsum(
                    "kji,kj->ki", poses.rotation[:, 0], poses.position[:, 1] - poses.position[:, 0]
                )
                np.testing.assert_allclose(inner, inner[:1].repeat(5, axis=0), atol=1e-12)
            else:
                assert "in nearly all poses" in reason


@pytest.mark.long
def test_links_always_within_the_clearance_are_left_out_by_name():
    """A flange behind a link without a shape, 5 mm from what it is joined to."""
    arm = robot_of(
        link("base", 0.1),
        link("l1", 0.1, "0 0 .3"),
        link("flange"),
        link("tool", 0.05, "0 0 .155"),
        joint("j1", "revolute", "base", "l1"),
        joint("j2", "revolute", "l1", "flange", at="0 0 .3"),
        joint("f", "fixed", "flange", "tool"),
    )
    near = clearances_of(arm.model, moves.Scene(), 0.01)
    assert near is not None
    assert [str(each) for each in near.left_out if each.reason.startswith("stay within 10 mm")] == [
        "l1 and tool"
    ]
    assert names_of(near) == [{"base", "tool"}]
    assert len(names_of(clearances_of(arm.model, moves.Scene(), 0.002))) == 2
    task = moves.Task(arm, clearance=0.01)
    task.start(q=[0.0, 0.0])
    task.to(q=[1.0, 0.0])
    task.limits(acceleration=5.0)
    line = str(task.solve().certificate["clearance"])
    assert "proved; no distance below" in line
    assert "times; pairs of links and obstacles: 1 checked, left out 1 that meet at a joint, " in line
    assert "1 that stay within 10 mm in nearly all poses (l1 and tool)" in line


def test_the_bound_of_a_link_is_the_distance_from_its_first_joint_less_the_chain_stretched_out():
    """By hand; the slide travels 3 m, and 10 mm more."""
    robot = robot_of(
        link("base", 0.1),
        link("l1", 0.08, "0 .3 .4"),
        link("l2", 0.05, "0 0 .25"),
        link("l3", 0.02),
        joint("j1", "revolute", "base", "l1", at="0 0 .1"),
        joint("j2", "revolute", "l1", "l2", "0 1 0", ".2 .3 .6"),
        joint("j3", "prismatic", "l2", "l3", at="0 .4 .3"),
    )
    scene = moves.Scene([moves.sphere(0.5, (6, 8, 0.1)), moves.half_space((0, 0, 1), (0, 0, -9))])
    found = dynamics.Clearances(robot.model, scene)
    reach = np.array([0.5 + 0.08, 0.7 + 0.25 + 0.05, 0.7 + 0.5 + 3.01 + 0.02])
    bounds = apart_in_all_poses(robot.model, found.robot, found.solids)[-3:]
    np.testing.assert_allclose(bounds, np.array([9.5, 9.1]) - reach[:, None], atol=1e-12)


@pytest.mark.long
def test_obstacles_out_of_reach_are_counted_and_not_computed_with():
    """The bound holds in all poses, and only obstacles beyond it are left out."""
    rng, arm = np.random.default_rng(2), robot_of(*ARM)
    slides = robot_of(
        link("base", 0.1),
        link("l1", 0.05, "0 0 .2"),
        link("l2", 0.05),
        joint("j1", "prismatic", "base", "l1", "1 0 0", ".1 0 0"),
        joint("j2", "revolute", "l1", "l2", at="0 .5 0"),
    )
    for model in (arm.model, slides.model):
        q = rng.uniform(-3.0, 3.0, (300, model.n))
        balls = [moves.sphere(0.1, at, name=f"ball {k}") for k, at in enumerate(rng.uniform(-6, 6, (40, 3)))]
        scene = moves.Scene([*balls, moves.half_space((0, 0, 1), (0, 0, -9.0), name="floor")])
        every, near = dynamics.Clearances(model, scene), clearances_of(model, scene, 0.002)
        assert near is not None
        least = dict(
            zip(map(every.pair_name, range(len(every))), every.distances(q).min(axis=0), strict=True)
        )
        far = [each for each in near.left_out if each.reason.startswith("come in no pose within 52.2 mm")]
        assert len(far) > 20 and len(near) < len(every)
        for each in far:
            assert least[str(each)] > 0.0522
        bound = apart_in_all_poses(model, every.robot, every.solids)
        found = [
            least.get(f"{name} and {scene.names[j]}")
            for name, j in itertools.product(every.robot.carriers, range(len(scene.shapes)))
        ]
        for value, low in zip(found, bound.ravel(), strict=True):
            assert value is None or value >= low
        assert f"{len(far)} that come in no pose within 52.2 mm" in near.coverage
    out = moves.Scene([moves.sphere(0.1, (9, 0, 0), name="moon")])
    one = robot_of(link("base"), link("l1", 0.05), joint("j1", "revolute", "base", "l1"))
    assert names_of(clearances_of(one.model, out, 0.002)) == [{"l1", "moon"}]


def test_reasons_of_pairs_that_may_touch_are_told(tmp_path):
    file = tmp_path / "allowed.json"
    file.write_text('[["base", "l2", "never touch"], ["l1", "l3"]]', encoding="utf-8")
    model = robot_of(*ARM, allowed=file).model
    found = dynamics.Clearances(model, moves.Scene([moves.sphere(0.1, (0, 0, 2), name="lamp")]))
    assert found.coverage == (
        "pairs of links and obstacles: 4 checked, left out 3 that meet at a joint, 1 that do not move "
        "against each other, 1 that never touch (base and l2), 1 that are allowed to touch (l1 and l3)"
    )
    assert (GROUND, "lamp") not in {(each.first, each.second) for each in found.left_out}
    assert dynamics.RigidBodyModel.from_json(model.to_json()).allowed_pairs == model.allowed_pairs
    with pytest.raises(dynamics.ModelError, match="two names, and a reason or none"):
        model.with_shapes(model.shapes, [("base",)])


def test_neighbours_stay_through_files_of_models():
    model = robot_of(*ARM, locked={"j2": 0.0}).model
    again = dynamics.RigidBodyModel.from_json(model.to_json())
    assert [body.neighbour for body in again.bodies] == [body.neighbour for body in model.bodies]
    assert again.bodies[1].neighbour == "l2" and again.bodies[0].neighbour == "base"


def test_a_load_is_a_part_of_its_own_which_may_touch_only_what_holds_it():
    """On the body behind a joint it is no neighbour of the body before it."""
    arm = robot_of(*ARM)
    task = moves.Task(arm)
    task.start(q=[0.0, 0.0, 0.0])
    task.attach("bar", "l3", mass=0.1, shape=moves.sphere(0.05, (0, 0, 0.2)), touching=["l1"])
    task.to(q=[1.0, 0.0, 0.0])
    found = task.stated.clearances(carrying(arm.model, task.stated.steps[0].payloads))
    assert found is not None
    assert {"bar", "l2"} in names_of(found) and {"bar", "base"} in names_of(found)
    reasons = {str(each): each.reason for each in found.left_out}
    assert reasons["l3 and bar"] == FIXED and reasons["l1 and bar"] == "touch where one holds the other"
    with pytest.raises(errors.OptionError, match="has a link or frame 'l2' already"):
        task.attach("l2", "l3", mass=0.1, shape=moves.sphere(0.05))
    with pytest.raises(errors.OptionError, match="touching is 'l1': give a list"):
        task.attach("rod", "l3", mass=0.1, touching="l1")


def test_links_that_are_seen_and_have_no_shape_are_named_or_fitted():
    parts = (
        link("base"),
        link("l1", 0.05, ".25 0 0"),
        link("l2", 0.05, ".5 0 0", "visual"),
        joint("j1", "revolute", "base", "l1"),
        joint("j2", "revolute", "l1", "l2", at=".5 0 0"),
    )
    text = f'<robot name="r">{"".join(parts)}</robot>'
    with pytest.warns(dynamics.ShapeWarning, match="have no shape and may touch anything: l2;"):
        bare = moves.robot(text, shapes="fit")
    found = dynamics.Clearances(bare.model, moves.Scene([moves.sphere(0.1, name="ball")]))
    assert found.coverage.endswith("; links without a shape: l2")
    fitted = moves.robot(text, shapes="fit_visual").model
    assert [shape.carrier for shape in fitted.shapes] == ["l1", "l2"]
    assert len(dynamics.urdf_shapes(text, visuals="skip")) == 1


def test_poses_of_a_range_that_lies_beyond_a_turn_are_within_it():
    """Between 4 m and 5 m they overlap up to 4.6 m; below 4 m, where the slide never is, everywhere."""
    slide = joint("slide", "prismatic", "world", "carriage", "1 0 0")
    slide = slide.replace('"-3" upper="3"', '"4" upper="5"')
    fixed = joint("f", "fixed", "world", "wall", at="3.6 0 0")
    rail = robot_of(link("world"), link("wall", 0.5), link("carriage", 0.5), fixed, slide)
    assert names_of(clearances_of(rail.model, moves.Scene(), 0.0)) == [{"carriage", "wall"}]


@pytest.mark.long
def test_the_way_back_without_a_load_is_checked_as_the_way_there():
    """A robot that has put its load down is the one that went for it, on another arc."""
    slide = joint("slide", "prismatic", "world", "carriage", "1 0 0")
    task = moves.Task(
        robot_of(link("world"), link("carriage", 0.1), slide),
        moves.Scene([moves.sphere(0.1, (0.0, 2.0, 0.0))]),
    )
    task.start(q=[0.0])
    task.to(q=[1.0])
    task.attach("part", "carriage", mass=1.0)
    task.to(q=[0.5])
    task.detach("part")
    task.to(q=[-1.0])
    task.limits(acceleration=2.0)
    motion = task.solve(intervals=4)
    assert motion.converged
    assert [line.name for line in motion.certificate.lines].count("clearance") == 3
    met = replace(motion.task, scene=moves.Scene([moves.sphere(0.1, (-0.9, 0.0, 0.0))]))
    for certificate in (replace(motion, task=met).certificate, replace(motion, task=met).verify()):
        assert certificate["clearance"].excess == pytest.approx(0.2 + task.clearance, abs=1e-3)
        assert not certificate.holds
