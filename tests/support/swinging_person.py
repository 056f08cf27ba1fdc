"""A person all of whose joints swing smoothly, under loads that balance: a motion with known torques."""

import numpy as np

import dynamics
from problems.human.assessment.whole_body import WholeBody, whole_body
from problems.human.body.person import Person
from problems.human.body.tables import freedoms
from problems.human.gait.cycle import Cycle


def swinging_person(samples: int) -> WholeBody:
    """One second of 55 joints that swing under loads on feet, toes and a device on a leg.

    Feet and toes share what the ground must give; what the device does to shank and thigh cancels.
    """
    rng, time = np.random.default_rng(0), np.linspace(0.0, 1.0, samples)
    person, n = Person(), len(freedoms())
    model = person.skeleton()
    phase, rate = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(2.0, 8.0, n)
    size = np.where([joint.kind == "prismatic" for joint in freedoms().values()], 0.05, 0.25)
    angle = rate * time[:, None] + phase
    q = size * np.sin(angle)
    q[:, model.joint_names.index("global_ty")] += 0.95
    v, a = size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    total = dynamics.base_wrench(model, q, v, a)
    share = 0.5 + 0.3 * np.sin(5.0 * time)[:, None]
    ground = {"hindfoot_r": 0.6 * share * total, "toes_r": 0.4 * share * total}
    ground["hindfoot_l"] = (1.0 - share) * total
    device = np.array([5.0, -3.0, 20.0, 40.0, 10.0, -15.0]) * np.cos(3.0 * time)[:, None]
    loads = ground | {"shank_l": device, "thigh_l": -device}
    assert total[:, 4].min() > 0.2 * person.weight
    return whole_body(Cycle(model.joint_names, time, q, v, a, loads, ground, 1.0, 0.5, person))
