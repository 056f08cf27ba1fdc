"""URDF: lengths in millimetres are named, by the sizes that meshes are named by."""

import pytest

from dynamics import JointWarning, load_urdf


def scaled(factor, origin="0 0 0", base="fixed"):
    """A shoulder on a base that a joint puts into the world, an elbow and a hand, lengths in m."""

    def link(name):
        return (
            f'<link name="{name}"><inertial><origin xyz="{0.1 * factor} 0 0"/><mass value="1"/>'
            '<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )

    def joint(name, kind, parent, child, xyz):
        limit = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
        ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        return f'<joint name="{name}" type="{kind}">{ends}{limit}</joint>'

    away = f"{0.3 * factor} 0 0"
    joints = (
        joint("place", base, "world", "base", origin)
        + joint("shoulder", "revolute", "base", "upper", "0 0 0")
        + joint("elbow", "revolute", "upper", "lower", away)
        + joint("wrist", "fixed", "lower", "hand", away)
    )
    links = "".join(map(link, ("base", "upper", "lower", "hand")))
    return f'<robot name="arm"><link name="world"/>{links}{joints}</robot>'


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (1000.0, r"beyond 50 m of .*: 'elbow' \(300 m\), 'wrist' \(300 m\): .* meshes by 0.001"),
        (0.001, r"all within 1 mm of .*: 'elbow' \(0.0003 m\), 'wrist' \(0.0003 m\): lengths of a URDF are"),
    ],
)
@pytest.mark.parametrize("floating", [False, "free"])
def test_a_robot_in_millimetres_is_named(factor, message, floating):
    with pytest.warns(JointWarning, match=message):
        load_urdf(scaled(factor), floating_base=floating)


def test_a_robot_far_from_the_origin_of_its_world_or_of_joints_in_one_place_is_not(recwarn):
    load_urdf(scaled(1.0, origin="120 80 0"))
    load_urdf(scaled(0.0))
    assert not [each for each in recwarn if issubclass(each.category, JointWarning)]
