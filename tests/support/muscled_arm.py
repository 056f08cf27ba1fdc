"""A forearm on a pin joint with a flexor and an extensor, as OpenSim's model file."""

from osim_text import body, joint, osim_text

MUSCLE = """<Thelen2003Muscle name="{name}"><max_isometric_force>{force}</max_isometric_force>
<optimal_fiber_length>0.12</optimal_fiber_length><tendon_slack_length>0.18</tendon_slack_length>
<pennation_angle_at_optimal>0.1</pennation_angle_at_optimal><GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>{start}</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/fore</socket_parent_frame><location>{end}</location>
</PathPoint></objects></PathPointSet></GeometryPath></Thelen2003Muscle>"""


def muscled_arm(force=150.0):
    """Text of the model; force : N, the largest isometric one of both muscles."""
    flexor = MUSCLE.format(name="flexor_r", force=force, start="0.05 0.25 0", end="0.04 -0.05 0")
    extensor = MUSCLE.format(name="extensor_r", force=force, start="-0.05 0.25 0", end="-0.04 -0.05 0")
    hinge = joint("PinJoint", "hinge", "ground", "fore", ("elbow",))
    fore = body("fore", 4.0, "0 -0.2 0", "0.02 0.002 0.02 0 0 0")
    return osim_text([fore], [hinge], forces=flexor + extensor)
