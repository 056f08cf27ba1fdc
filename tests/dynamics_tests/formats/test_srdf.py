"""SRDF beside a URDF: pairs that may touch, groups of joints, states; what is passed over is named."""

import pytest
from urdf_text import joint, link, robot

import dynamics

ARM = robot(
    *(link(name) for name in ("base", "l1", "l2", "l3", "tool", "finger")),
    joint("j1", "base", "l1"),
    joint("j2", "l1", "l2"),
    joint("j3", "l2", "l3"),
    joint("flange", "l3", "tool", "fixed", ""),
    joint("grip", "tool", "finger", "prismatic"),
)


def read(content):
    return dynamics.load_srdf(f'<robot name="r">{content}</robot>', dynamics.load_urdf(ARM))


def test_groups_of_chains_links_joints_and_groups_hold_the_joints_that_move():
    groups = read(
        """<group name="arm"><chain base_link="base" tip_link="tool"/></group>
        <group name="wrist"><chain base_link="l1" tip_link="l3"/></group>
        <group name="hand"><link name="finger"/></group>
        <group name="both"><group name="hand"/><joint name="j1"/><joint name="flange"/></group>"""
    ).groups
    assert groups == {
        "arm": ("j1", "j2", "j3"),
        "wrist": ("j2", "j3"),
        "hand": ("grip",),
        "both": ("j1", "grip"),
    }


def test_states_have_values_of_joints_that_move_and_others_are_named():
    found = read(
        """<group_state name="home" group="arm"><joint name="j1" value="0.5"/><joint name="j9" value="1"/>
        </group_state><end_effector name="e"/>"""
    )
    assert found.states == {"arm": {"home": {"j1": 0.5}}}
    assert found.left_out == (
        "<end_effector> of the SRDF: 1",
        "joints of the SRDF that do not move in the robot: j9",
    )


def test_groups_that_are_not_defined_are_passed_over_and_states_need_no_group():
    """As in files of legged robots, whose states say no group, and whose groups hold some that are gone."""
    found = read(
        """<group name="legs"><group name="lf"/><joint name="j1"/><group name="rf"/></group>
        <group_state name="home"><joint name="j1" value="0.5"/><joint name="grip" value="0.1"/></group_state>
        <group_state name="far" group="gone"><joint name="j2" value="1"/></group_state>"""
    )
    assert found.groups == {"legs": ("j1",)}
    assert found.states == {"": {"home": {"j1": 0.5, "grip": 0.1}}, "gone": {"far": {"j2": 1.0}}}
    (line,) = found.left_out
    assert line.startswith("groups of the SRDF that it does not define") and line.endswith("lf, rf")


def test_pairs_that_may_touch_have_their_reason_and_may_be_taken_back():
    found = read(
        """<disable_collisions link1="base" link2="l2" reason="Never"/>
        <disable_collisions link1="l1" link2="gone"/>
        <disable_default_collisions link="tool"/><enable_collisions link1="l1" link2="tool"/>"""
    )
    pairs = {frozenset(pair[:2]): pair[2] for pair in found.allowed_pairs}
    assert pairs[frozenset(("base", "l2"))] == "SRDF: Never"
    assert pairs.keys() == {
        frozenset(("base", "l2")),
        *(frozenset(("tool", other)) for other in ("base", "l2", "l3", "finger")),
    }
    assert found.left_out == ("links of the SRDF that the robot does not have: gone",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<group name="a"><group name="a"/></group>', "group 'a' holds itself"),
        ('<group_state group="a"/>', "a <group_state> lacks the attribute 'name'"),
        ('<disable_collisions link1="l1"/>', "<disable_collisions> lacks the attribute 'link2'"),
        ('<link name="l1"/>', "this is no SRDF"),
        (
            '<group_state name="s" group="a"><joint name="j1" value="x"/></group_state>',
            "state 's', joint 'j1': value is 'x', which is not a number",
        ),
    ],
)
def test_what_is_no_srdf_is_refused_by_name(content, message):
    with pytest.raises(dynamics.UrdfError, match=message):
        read(content)
