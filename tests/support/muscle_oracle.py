"""Forces and metabolic power of one muscle by OpenSim at seeded random states: parameters in, JSON out.

    python tests/support/muscle_oracle.py states.json

A body on a slider pulls on a DeGrooteFregly2016Muscle between it and the ground, so that path length and
speed are those of the slider.
"""

import json
import sys
from importlib import import_module

import numpy as np

opensim = import_module("opensim")  # an extra that type checkers need not have
STATES = 200
SLOW = 0.4
NUMBERS = {
    "max_isometric_force": 1288.0, "optimal_fiber_length": 0.097, "tendon_slack_length": 0.322,
    "pennation_angle_at_optimal": 0.35, "max_contraction_velocity": 9.0, "fiber_damping": 0.02,
    "passive_fiber_strain_at_one_norm_force": 0.7, "tendon_strain_at_one_norm_force": 0.06,
    "active_force_width_scale": 1.3,
}  # fmt: skip


def model_of(compliant):
    model = opensim.Model()
    body = opensim.Body("body", 1.0, opensim.Vec3(0.0), opensim.Inertia(1.0))
    joint = opensim.SliderJoint("slider", model.getGround(), body)
    model.addBody(body)
    model.addJoint(joint)
    muscle = opensim.DeGrooteFregly2016Muscle()
    muscle.setName("muscle")
    for name, value in NUMBERS.items():
        getattr(muscle, f"set_{name}")(value)
    muscle.set_ignore_tendon_compliance(not compliant)
    muscle.set_tendon_compliance_dynamics_mode("implicit")
    muscle.addNewPathPoint("one", model.getGround(), opensim.Vec3(0.0))
    muscle.addNewPathPoint("other", body, opensim.Vec3(0.0))
    model.addForce(muscle)
    probes = {
        "bhargava": opensim.Bhargava2004MuscleMetabolicsProbe(),
        "umberger": opensim.Umberger2010MuscleMetabolicsProbe(),
    }
    for name, probe in probes.items():
        probe.set_report_total_metabolics_only(False)
        probe.addMuscle("muscle", SLOW, *(40.0, 133.0, 74.0, 111.0)[: 4 * (name == "bhargava")])
        model.addProbe(probe)
    return model, joint.get_coordinates(0), muscle, probes


def states(compliant, rng):
    model, slider, muscle, probes = model_of(compliant)
    state = model.initSystem()
    for _ in range(STATES):
        given = {
            "length": 0.322 + 0.097 * rng.uniform(0.5, 1.6), "speed": rng.uniform(-0.6, 0.6),
            "activation": rng.uniform(0.01, 1.0), "excitation": rng.uniform(0.01, 1.0),
        }  # fmt: skip
        slider.setValue(state, given["length"])
        slider.setSpeedValue(state, given["speed"])
        muscle.setActivation(state, given["activation"])
        if compliant:
            given |= {"tendon_force": rng.uniform(0.01, 1.3), "tendon_rate": rng.uniform(-8.0, 8.0)}
            muscle.setStateVariableValue(state, "normalized_tendon_force", given["tendon_force"])
            muscle.setDiscreteVariableValue(
                state, "implicitderiv_normalized_tendon_force", given["tendon_rate"]
            )
        model.realizeVelocity(state)
        model.setControls(state, opensim.Vector(1, given["excitation"]))
        model.realizeDynamics(state)
        yield given | {
            "force": muscle.getFiberForceAlongTendon(state), "active": muscle.getActiveFiberForce(state),
            "passive": muscle.getPassiveFiberForce(state), "fibre": muscle.getFiberLength(state),
            "fibre_speed": muscle.getFiberVelocity(state), "cosine": muscle.getCosPennationAngle(state),
            **{name: probe.computeProbeInputs(state)[2] for name, probe in probes.items()},
        }  # fmt: skip


def main(out):
    opensim.Logger.setLevelString("off")
    rng = np.random.default_rng(5)
    cases = {name: list(states(name == "compliant", rng)) for name in ("rigid", "compliant")}
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"numbers": NUMBERS, "slow": SLOW, "cases": cases}, stream)


if __name__ == "__main__":
    main(sys.argv[1])
