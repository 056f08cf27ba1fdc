"""Peers on the two-link arm, in minimum time or by least effort; every peer runs in a process of its own.

`python -m benchmarks.shared.peers NAME INTERVALS REPEATS` prints one line of JSON, its objective and seconds.
Only the peer is imported here, never our own packages, so that an interpreter that holds nothing but the peer
can run it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

LENGTH, MASS, INERTIA, CENTRE, TORQUE = 0.4, 0.5, 0.1, 0.2, 10.0
START, END = (0.0, -2.0), (1.0, -1.0)
GIVEN = 0.6  # s, in which the least effort is sought
PENALTY = 1e7  # of the squared distance from the end, where an end can only be aimed at


def casadi_multiple_shooting(intervals: int) -> Callable[[], float]:
    """Piecewise constant torques, one Runge-Kutta step of order 4 per interval, IPOPT."""
    import casadi

    x, u, step = casadi.MX.sym("x", 4), casadi.MX.sym("u", 2), casadi.MX.sym("h")
    lever, outer = MASS * LENGTH * CENTRE, INERTIA + MASS * CENTRE**2
    whole = 2 * outer + MASS * LENGTH**2
    cosine, sine = lever * casadi.cos(x[1]), lever * casadi.sin(x[1])
    a11, a12, a22 = whole + 2 * cosine, outer + cosine, outer
    f1 = u[0] + sine * (2 * x[2] * x[3] + x[3] ** 2)
    f2 = u[1] - sine * x[2] ** 2
    determinant = a11 * a22 - a12**2
    rate = casadi.vertcat(
        x[2], x[3], (a22 * f1 - a12 * f2) / determinant, (a11 * f2 - a12 * f1) / determinant
    )
    f = casadi.Function("f", [x, u], [rate])
    k1 = f(x, u)
    k2 = f(x + step / 2 * k1, u)
    k3 = f(x + step / 2 * k2, u)
    k4 = f(x + step * k3, u)
    advance = casadi.Function("advance", [x, u, step], [x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])

    states, torques = casadi.MX.sym("X", 4, intervals + 1), casadi.MX.sym("U", 2, intervals)
    duration = casadi.MX.sym("T")
    after = advance.map(intervals)(states[:, :-1], torques, casadi.repmat(duration / intervals, 1, intervals))
    unknowns = casadi.veccat(duration, states, torques)
    nlp = {"x": unknowns, "f": duration, "g": casadi.vec(states[:, 1:] - after)}
    options = {
        "ipopt.print_level": 0,
        "print_time": False,
        "expand": True,
        "ipopt.sb": "yes",
        "ipopt.tol": 1e-8,
    }
    solver = casadi.nlpsol("solver", "ipopt", nlp, options)
    line = [
        [a + (b - a) * k / intervals for a, b in zip(START, END, strict=True)] + [0.0, 0.0]
        for k in range(intervals + 1)
    ]
    guess = [1.0] + [entry for state in line for entry in state] + [0.0] * (2 * intervals)
    fixed = [*START, 0.0, 0.0], [*END, 0.0, 0.0]
    free = [-1e20] * (4 * (intervals - 1))
    lower = [0.05, *fixed[0], *free, *fixed[1]] + [-TORQUE] * (2 * intervals)
    upper = [5.0, *fixed[0], *(-value for value in free), *fixed[1]] + [TORQUE] * (2 * intervals)

    def solve() -> float:
        answer = solver(x0=guess, lbx=lower, ubx=upper, lbg=0.0, ubg=0.0)
        if not solver.stats()["success"]:
            raise RuntimeError(solver.stats()["return_status"])
        return float(answer["f"])

    return solve


def drake_direct_collocation(intervals: int) -> Callable[[], float]:
    """Hermite-Simpson collocation of a MultibodyPlant, SNOPT."""
    import numpy as np
    from pydrake.all import (
        DirectCollocation,
        FixedOffsetFrame,
        MultibodyPlant,
        PiecewisePolynomial,
        RevoluteJoint,
        RigidTransform,
        SnoptSolver,
        SpatialInertia,
        UnitInertia,
    )

    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
    frame = plant.world_frame()
    for name in ("shoulder", "elbow"):
        about_centre = INERTIA / MASS
        unit = UnitInertia(1e-3 * about_centre, about_centre, about_centre)
        inertia = SpatialInertia.MakeFromCentralInertia(MASS, [CENTRE, 0.0, 0.0], unit * MASS)
        body = plant.AddRigidBody(name, inertia)
        plant.AddJoint(RevoluteJoint(name, frame, body.body_frame(), [0.0, 0.0, 1.0]))
        plant.AddJointActuator(name, plant.GetJointByName(name))
        frame = plant.AddFrame(
            FixedOffsetFrame(f"{name} end", body.body_frame(), RigidTransform([LENGTH, 0.0, 0.0]))
        )
    plant.Finalize()
    context = plant.CreateDefaultContext()
    start, end = np.array([*START, 0.0, 0.0]), np.array([*END, 0.0, 0.0])

    def solve() -> float:
        program = DirectCollocation(
            plant,
            context,
            intervals + 1,
            0.05 / intervals,
            5.0 / intervals,
            plant.get_actuation_input_port().get_index(),
        )
        program.AddEqualTimeIntervalsConstraints()
        torque = program.input()
        program.AddConstraintToAllKnotPoints(torque[0] <= TORQUE)
        program.AddConstraintToAllKnotPoints(torque[0] >= -TORQUE)
        program.AddConstraintToAllKnotPoints(torque[1] <= TORQUE)
        program.AddConstraintToAllKnotPoints(torque[1] >= -TORQUE)
        inner = program.prog()
        inner.AddBoundingBoxConstraint(start, start, program.initial_state())
        inner.AddBoundingBoxConstraint(end, end, program.final_state())
        program.AddFinalCost(program.time())
        line = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], np.stack([start, end], axis=1))
        program.SetInitialTrajectory(PiecewisePolynomial(), line)
        result = SnoptSolver().Solve(inner)
        if not result.is_success():
            raise RuntimeError(str(result.get_solution_result()))
        return float(program.GetSampleTimes(result)[-1])

    return solve


def opensim_moco(intervals: int) -> Callable[[], float]:
    """Hermite-Simpson collocation of a Simbody model by MocoCasADiSolver, IPOPT; Moco's own tolerances."""
    import opensim

    opensim.Logger.setLevelString("Error")
    model = opensim.Model()
    model.setGravity(opensim.Vec3(0.0))
    parent, place = model.getGround(), opensim.Vec3(0.0)
    for name in ("shoulder", "elbow"):
        # Simbody's bodies: origin on the joint's axis, inertia about the centre of mass.
        inertia = opensim.Inertia(1e-3, INERTIA, INERTIA, 0.0, 0.0, 0.0)
        body = opensim.Body(f"{name}_link", MASS, opensim.Vec3(CENTRE, 0.0, 0.0), inertia)
        zero = opensim.Vec3(0.0)
        joint = opensim.PinJoint(name, parent, place, zero, body, zero, zero)
        joint.updCoordinate().setName(f"{name}_angle")  # motors find coordinates by name
        model.addBody(body)
        model.addJoint(joint)
        motor = opensim.CoordinateActuator()
        motor.setName(f"{name}_motor")
        motor.setCoordinate(joint.updCoordinate())
        motor.setOptimalForce(TORQUE)
        motor.setMinControl(-1.0)
        motor.setMaxControl(1.0)
        model.addForce(motor)
        parent, place = body, opensim.Vec3(LENGTH, 0.0, 0.0)
    model.finalizeConnections()

    def solve() -> float:
        study = opensim.MocoStudy()
        problem = study.updProblem()
        problem.setModelAsCopy(model)  # setModel takes the model away: a second solve would crash
        problem.setTimeBounds(0.0, [0.05, 5.0])
        for name, first, last in zip(("shoulder", "elbow"), START, END, strict=True):
            problem.setStateInfo(f"/jointset/{name}/{name}_angle/value", [-4.0, 4.0], first, last)
            problem.setStateInfo(f"/jointset/{name}/{name}_angle/speed", [-50.0, 50.0], 0.0, 0.0)
        problem.addGoal(opensim.MocoFinalTimeGoal())
        solver = study.initCasADiSolver()
        solver.set_num_mesh_intervals(intervals)
        solver.set_parallel(0)  # one core, like everybody else here
        solver.set_verbosity(0)
        solver.set_optim_ipopt_print_level(0)
        guess = solver.createGuess("bounds")  # then on the straight line within a second, as the others
        guess.setTime(opensim.createVectorLinspace(guess.getNumTimes(), 0.0, 1.0))
        for name, first, last in zip(("shoulder", "elbow"), START, END, strict=True):
            line = opensim.createVectorLinspace(guess.getNumTimes(), first, last)
            guess.setState(f"/jointset/{name}/{name}_angle/value", line)
        solver.setGuess(guess)
        answer = study.solve()
        if not answer.success():
            raise RuntimeError(answer.getStatus())
        return float(answer.getFinalTime())

    return solve


def crocoddyl_least_effort(intervals: int) -> Callable[[], float]:
    """The integral of the squared torques in `GIVEN` seconds by differential dynamic programming (Box-FDDP).

    Constant torques, a Runge-Kutta step of order 4 on each interval; posture and rest at the end have a
    penalty.
    """
    import crocoddyl
    import numpy as np
    import pinocchio

    arm, parent, place = pinocchio.Model(), 0, pinocchio.SE3.Identity()
    arm.gravity = pinocchio.Motion.Zero()
    for name in ("shoulder", "elbow"):
        parent = arm.addJoint(parent, pinocchio.JointModelRZ(), place, name)
        inertia = pinocchio.Inertia(MASS, np.array([CENTRE, 0.0, 0.0]), np.diag([0.0, INERTIA, INERTIA]))
        arm.appendBodyToJoint(parent, inertia, pinocchio.SE3.Identity())
        place = pinocchio.SE3(np.eye(3), np.array([LENGTH, 0.0, 0.0]))
    state = crocoddyl.StateMultibody(arm)
    torques = crocoddyl.ActuationModelFull(state)
    effort, arrival = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
    squared = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 2))
    effort.addCost("effort", squared, 2.0)  # Crocoddyl's costs are halves of squares
    goal = crocoddyl.ResidualModelState(state, np.array([*END, 0.0, 0.0]), 2)
    arrival.addCost("end", crocoddyl.CostModelResidual(state, goal), PENALTY)
    moving = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, torques, effort)
    ended = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, torques, arrival)
    step = crocoddyl.IntegratedActionModelRK(moving, crocoddyl.RKType.four, GIVEN / intervals)
    step.u_lb, step.u_ub = np.full(2, -TORQUE), np.full(2, TORQUE)
    last = crocoddyl.IntegratedActionModelEuler(ended, 0.0)

    def solve() -> float:
        shooting = crocoddyl.ShootingProblem(np.array([*START, 0.0, 0.0]), [step] * intervals, last)
        solver = crocoddyl.SolverBoxFDDP(shooting)
        solver.th_stop = 1e-9
        if not solver.solve([], [], 500, False):
            raise RuntimeError("no convergence in 500 iterations")
        return float(np.sum(np.square(solver.us))) * GIVEN / intervals

    return solve


PEERS = {
    "casadi": casadi_multiple_shooting,
    "crocoddyl": crocoddyl_least_effort,
    "drake": drake_direct_collocation,
    "moco": opensim_moco,
}


def main() -> None:
    name, intervals, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    solve = PEERS[name](intervals)
    objective, seconds = solve(), []
    for _ in range(repeats):
        began = time.perf_counter()
        objective = solve()
        seconds.append(time.perf_counter() - began)
    sys.stdout.flush()
    print("\n" + json.dumps({"objective": objective, "seconds": statistics.median(seconds)}), flush=True)


if __name__ == "__main__":
    main()
