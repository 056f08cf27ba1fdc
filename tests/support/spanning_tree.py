"""A geared robot with its gears taken off: every rotor a link, every joint a coordinate of its own."""

from dataclasses import replace

import numpy as np

from dynamics import Body, Joint, RigidBodyModel


def spanning_tree(model, with_offset=False):
    """(tree, G) with tree coordinates = G q; the offsets of the joints too when asked for."""
    bodies, rows, offsets = [], [], []
    for body, coordinate in zip(model.bodies, model.coordinate, strict=True):
        joint, unit = body.joint, np.eye(model.n)[coordinate]
        free = replace(joint, mimics=None, ratio=1.0, offset=0.0, rotor=None)
        bodies.append(replace(body, joint=free))
        rows.append(joint.ratio * unit)
        offsets.append(joint.offset)
        if joint.rotor is None:
            continue
        rotor = joint.rotor
        spindle = Joint(f"rotor of {joint.name}", axis=rotor.axis, position=rotor.position)
        name = f"rotor of {body.name}"
        bodies.append(Body(name, spindle, body.parent, rotor.mass, rotor.centre_of_mass, rotor.inertia))
        rows.append(rotor.gear_ratio * joint.ratio * unit)
        offsets.append(rotor.gear_ratio * joint.offset)
    tree = RigidBodyModel(tuple(bodies), model.gravity)
    return (tree, np.array(rows), np.array(offsets)) if with_offset else (tree, np.array(rows))
