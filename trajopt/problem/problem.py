"""An optimal control problem: a dynamics, a trajectory, costs, constraints, and the first guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.graph.data import Interpolation, data_of
from trajopt.graph.protocols import Term
from trajopt.problem import input_checks
from trajopt.problem.constraints import coordinate_bounds as bounds
from trajopt.problem.constraints.designs import design_of
from trajopt.problem.constraints.rotation_wraps import wrap_rotation
from trajopt.problem.constraints.slacks import Integral, integral_constraint, smooth_bounds, smooth_cost
from trajopt.problem.contacts import closure_rows, contact_rows, loop_poses
from trajopt.problem.contacts.closure import Closure, ClosureKind
from trajopt.problem.contacts.contact import WORLD, Contact, Surface
from trajopt.problem.contacts.ground import FLAT, Box
from trajopt.problem.costs_and_constraints import AdditionalCurve, Cost, Parameter, with_curve
from trajopt.problem.input_checks import check_dynamics, check_link
from trajopt.problem.instant import Instant, instant_of, set_start_time
from trajopt.problem.problem_graph import may_jump
from trajopt.problem.problem_parts import (
    ProblemParts,
    Refinement,
    all_or_nothing,
    at_breakpoints,
    check_refinement,
    default_trajectory,
    fitting_trajectory,
)
from trajopt.problem.systems.augmented_dynamics import AugmentedDynamics
from trajopt.problem.systems.controls import add_control, controls_of, default_curves
from trajopt.problem.systems.state_equations import StateEquations
from trajopt.solvers.run import check_solver
from trajopt.solvers.solver import Solver
from trajopt.splines.node_sets import PATH, Instants, Neighbours, Over, node_set
from trajopt.terms import term as terms
from trajopt.terms.arithmetic import added
from trajopt.terms.nonsmooth import has_kinks, refuse_kinks

if TYPE_CHECKING:
    from trajopt.display.facts import ProblemSummary

# One for all coordinates, or one each; those of states by their names.
Values = float | ArrayLike | Sequence[float | None] | Mapping[str, Any] | None


@dataclass(eq=False, repr=False)
class Problem(ProblemParts):
    """An optimal control problem over all splines of a trajectory.

        minimize    sum_c weight_c * integral_0^T sum_i term_c,i dt   (or the value at one node)
        subject to  lower <= term <= upper                            at nodes, or for all t

    trajectory : left out, 20 intervals of free duration, of collocation for states of first order
    Its methods add costs, constraints and unknowns, and raise errors for what can be seen to be wrong
    without evaluating a term.
    """

    def __post_init__(self) -> None:
        check_dynamics(self.dynamics)
        arguments.name(self.name, "the name of the problem")
        given: Any = self.trajectory
        mesh = default_trajectory(self.dynamics) if given is None else given
        self.trajectory = fitting_trajectory(self.dynamics, mesh)
        self.extras |= default_curves(self.dynamics, self.trajectory)
        if isinstance(self.dynamics, StateEquations):
            self.constraints += self.dynamics.equations
        for name in self.dynamics.states if isinstance(self.dynamics, AugmentedDynamics) else ():
            for arc in range(len(self.trajectory.arcs) - 1):
                goes_on = f"{name} goes on, arc {arc + 1}"
                self.subject_to(terms.extra(name), equals=0.0, over=Neighbours(arc), name=goes_on)

    # -- what to minimize ---------------------------------------------------------------------------------

    def minimize(
        self,
        term: Term | Integral,
        weight: float = 1.0,
        over: Over | None = None,
        name: str | None = None,
    ) -> None:
        """Add weight * (integral of the term over `over`, or its value at "start" or "end", or at times).

        Vector terms are summed over their components. `over` is "path" unless the term is the duration, a
        parameter or arithmetic of these, whose value counts once; a window or an arc,
        `ArcNodes(arc, "whole")`, are integrated as well. Over times [t1, t2] it is the sum of the values at
        these seconds of a motion of fixed duration, see `Instants`. Raises OptionError where no cost is
        defined, over `Neighbours` for instance.
        """
        if isinstance(term, Integral):
            term.check_over(over, None)
            term, over, name = term.term, term.over, name or term.term.name
        self.width_of_term(term)  # an unknown quantity is reported here, where it was written
        factor = arguments.number(weight, f"the weight of '{term.name}'")
        where, label = input_checks.part_of_cost(term, over), input_checks.label_of(name, term)
        trajectory = at_breakpoints(self, self.trajectory, [where])
        for part in where.each() if isinstance(where, Instants) and has_kinks(term) else (where,):
            smooth = smooth_cost(self, term, factor, part)  # which refuses before it changes the problem
            smooth = bounds.of_motors(self, smooth) if self.passive_joints else smooth
            self.costs.append(Cost(smooth, factor, part, label))
        self.trajectory = trajectory

    # -- what must hold -----------------------------------------------------------------------------------

    def subject_to(
        self,
        term: Term | Integral,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        equals: ArrayLike | None = None,
        over: Over = "path",
        name: str | None = None,
        hold: Literal["nodes", "hull"] = "nodes",
        scale: float | None = None,
    ) -> None:
        """Add lower <= term <= upper, or term = equals, with bounds (width,) or a number for all components.

        A component whose bound is None is free. The term may be an integral, `trajopt.integral(term, over)`,
        which says itself what it is over.
        Bounds of 1e20 or more are infinite: no bounds.
        over : "path", "start", "end", a window (s0, s1) of normalised time, whose ends become breakpoints of
            a collocation mesh, single times [t1, t2] in seconds, `Instants`, `ArcNodes` or `Neighbours`
        hold : "nodes", or "hull" to bound the control points of q, v, a or jerk, which bounds them for all t
        scale : in the term's unit, what violations are compared with: between nodes 0.001 of it is allowed.
            Of a limit its bound by default: 0.05 m for a distance that must stay above 0.002 m, for instance
        Raises ShapeError, NotFiniteError, InfeasibleBoundsError or OptionError for what cannot be meant.
        """
        called = getattr(term, "name", "") if name is None else name
        input_checks.check_bounds_are_given(called, (lower, upper, equals))
        if isinstance(term, Integral):
            term.check_over(over, PATH)
            input_checks.check_hold(hold, term.name, has_hull=False)
            input_checks.check_scale(scale, term.name, has_scale=False)
            trajectory = at_breakpoints(self, self.trajectory, [term.over])
            self.integrals.append(integral_constraint(self, term, (lower, upper, equals), name))
            self.trajectory = trajectory
            return
        width = self.width_of_term(term)
        label = input_checks.label_of(name, term)
        if has_kinks(term):
            for piece, low, high, called in list(smooth_bounds(term, lower, upper, equals, label)):
                self.subject_to(piece, low, high, over=over, name=called, hold=hold, scale=scale)
            return
        where = node_set(over)
        trajectory = at_breakpoints(self, self.trajectory, [where])
        stated = bounds.constraint_of(self, term, (lower, upper, equals), width, where, label, hold, scale)
        if where.window(trajectory) is not None:
            stated = replace(stated, jumps=may_jump(self, term))
        self.trajectory = trajectory
        self.constraints.append(stated)

    def start_at(
        self,
        q: Values = None,
        v: Values = None,
        a: Values = None,
        *,
        x: Values = None,
        time: float | tuple[float, float] | None = None,
        measured: bool | None = None,
    ) -> None:
        """Fix positions q, velocities v, accelerations a at t = 0, (n,) each, or the states x of a system.

        What is left out, or None, is free: q=[0.0, None] fixes the first joint alone. Calls add up: what an
        earlier one fixed stays so. States of several components stand one behind the other in x, or by their
        names, x={"r": [0.0, 1.0, None], "m": 5.0}.

        time : when the motion starts, in seconds, 0 by default; (earliest, latest) for a free start, which is
            `solution.parameters["start time"]`. In terms `node.t` counts from the start, `node.time` is t
            plus the start; data in seconds are read at it.
        measured : whether these are measurements: what they contradict then gives way by the least change
            (`trajopt.problem.measured_start`), which `solution.relaxations` and `verify` list, as long as all
            positions are given. Feet that stand are held where they are. Left out, only feet within a
            millimetre of the ground are, and velocities change that move them by a millimetre per second
        """
        if measured is not None:
            arguments.check_flag("measured", measured)
            self.measured = bool(measured)
        if time is not None:
            set_start_time(self, time)
        if time is None or any(given is not None for given in (q, v, a, x)):
            self._boundary("start", q=q, v=v, a=a, x=x)

    def end_at(self, q: Values = None, v: Values = None, a: Values = None, *, x: Values = None) -> None:
        """Fix positions, velocities, accelerations or states at t = T, as `start_at` does at t = 0."""
        self._boundary("end", q=q, v=v, a=a, x=x)

    def subject_to_joint_limits(
        self, position: bool = True, velocity: bool = True, torque: bool = True
    ) -> None:
        """Add the finite limits of the dynamics.

        Positions and velocities hold for all t (control points of the curve and of its derivative), torques
        at the nodes: those of the motors, beside springs and dampers where joints have some. Coulomb friction
        is not in them; a robot without mass has none. Raises InfeasibleBoundsError where all limits of a kind
        are zero.
        """
        wanted = self.designs, self.name, position, velocity, torque
        for term, lower, upper, hold, name in bounds.joint_limits(self.dynamics, *wanted):
            self.subject_to(term, lower, upper, hold=hold, name=name)

    def passive(self, *joints: str, over: Over = "path", where: str = "") -> None:
        """Add tau_j = 0 for joints without motors, under the loads, as "no motor at JOINT".

        Of a joint with a spring or a damper it is motor_torque_j = 0: these are all that acts there.

        over : the part of the motion in which nothing drives them; where : the name of that part in reports.
        Between nodes a spline meets such an equation up to a residual, which `Solution.verify` reports.
        A cost of squared torques, `minimize(trajopt.tau ** 2)`, counts those of joints with motors alone.
        Raises UnknownNameError, and OptionError for a joint that is passive there already.
        """
        part, suffix = node_set(over), f", {where}" if where else ""
        torques = bounds.passive_torques(self, joints, part)
        for joint, torque in torques:
            self.subject_to(torque, equals=0.0, over=part, name=f"no motor at {joint}{suffix}")
            self.passive_joints[joint] = (*self.passive_joints.get(joint, ()), part)
        self.costs = [replace(cost, term=bounds.of_motors(self, cost.term)) for cost in self.costs]

    def lock(self, *joints: str, at: ArrayLike) -> None:
        """Hold joints at q_j(t) = at for all t, in rad or m, one number or one each, as "lock of JOINT".

        All their control points are eliminated. Raises UnknownNameError, ShapeError or NotFiniteError.
        """
        for joint, low, high in bounds.locked_bounds(self.dynamics.joint_names, joints, at):
            self.subject_to(terms.q, low, high, hold="hull", name=f"lock of {joint}")

    def subject_to_periodic(
        self,
        term: Term | None = None,
        signs: ArrayLike = 1.0,
        *,
        order: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
        name: str | None = None,
    ) -> None:
        """Add term(T)_i = signs_i * term(0)_order(i) + offset_i, a swap of left and right for instance.

        q, v and additional curves are eliminated, other terms become rows and keep their order. Joints that
        follow from others by loops repeat with these. Raises OptionError where no term is given.
        """
        if term is None:
            raise OptionError(
                "subject_to_periodic has no term: name what is at the end as it was at the start, "
                "subject_to_periodic(trajopt.q) and subject_to_periodic(trajopt.v)"
            )
        width = self.width_of_term(term)
        refuse_kinks(term, "a periodicity")
        label = input_checks.label_of(name, term, " periodic")
        self.periodicities.append(bounds.periodicity_of(term, width, signs, order, offset, label))
        loop_poses.keep_independent_periodicities(self)

    def continuity(self, coordinate: str, order: int, after: int | None = None) -> None:
        """Let a joint or a state keep only `order` continuous derivatives where arcs meet.

        order : below the trajectory's: 1, the acceleration may jump; 0, the velocity, as in an impact; -1,
            the coordinate itself, a state that is a velocity for instance
        after : the arc before the border; None: at every border. The lowest order given for a border holds.
        The jump is free: `Phases.link` between both sides, or over=Neighbours(after), says what it obeys.
        Raises UnknownNameError or OptionError, also where the trajectory has no such border.
        """
        names, mesh, system = self.dynamics.joint_names, self.trajectory, self.dynamics
        components: tuple[Any, ...] = (coordinate,)
        if isinstance(system, StateEquations) and isinstance(coordinate, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            components = system.components_of(coordinate)
        for component in components:
            self.lower_continuities.append(bounds.lower_continuity(names, mesh, component, order, after))

    def load(self, link: str, term: Term) -> None:
        """Let a wrench act on a link, (6,) [moment; force] in world axes about the world origin.

        The wrench may follow from motion, parameters, or the base wrench of the unloaded robot (such as a
        ground reaction); torques and joint wrenches then contain it, with exact derivatives through both.
        Loads on one link add, also to the forces of contacts and loops there. A reaction that follows from
        the base wrench stays as it is under others: only such as cancel, the two ends of a device say, leave
        the robot in balance with it.
        """
        check_link(self.dynamics, link, self.width_of_term(term))
        refuse_kinks(term, "a load")
        self.loads[link] = added(self.loads[link], term) if link in self.loads else term

    def parameter(
        self,
        name: str,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        guess: ArrayLike | None = None,
        unit: str = "",
    ) -> terms.Quantity:
        """Add a constant unknown and return it as a term; reports print its unit, here and below."""
        input_checks.refuse_again(name, "parameter", self.parameters)
        given = input_checks.unknown("parameter", name, lower, upper, guess, 1)
        self.parameters[name] = Parameter(name, *given, arguments.unit(unit, f"'{name}'"))
        return terms.parameter(name)

    def design(
        self, name: str, value: ArrayLike | Term | Sequence[Term | float] | Callable[..., object]
    ) -> None:
        """Let a property such as "forearm.mass" follow from parameters, as all of its quantities do.

        name : see `dynamics.RigidBodyModel.with_properties`; value : a term of parameters, a function of a
        node, or a list of parameters and numbers. Raises OptionError for a value that varies or a second one,
        and the robot's errors for unknown names and where it cannot exist at the guess.
        """
        design = design_of(self, name, value)
        bounds.refuse_late_spring(self, name)
        self.designs[name] = design

    def extra(
        self,
        name: str,
        width: int = 1,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        guess: ArrayLike | None = None,
        unit: str = "",
        components: Sequence[str] = (),
    ) -> terms.Quantity:
        """Add `width` unknown curves beside the joints', such as contact forces, and return them as a term.

        They have the joints' knots and may jump between arcs. The bounds hold for all t, as the control
        points are bounded. In functions of a node `node.extra(name)` is the curves' values, `node.rate(name)`
        their derivatives by time. `components` names them in figures and reports: ("x", "y") for instance.
        """
        input_checks.refuse_again(name, "extra", self.extras)
        named = input_checks.component_names("extra", name, components)
        given = input_checks.unknown("extra", name, lower, upper, guess, width, len(named))
        curve = AdditionalCurve(name, *given, unit=arguments.unit(unit, f"'{name}'"), components=named)
        self.extras = with_curve(self.extras, curve)
        return terms.extra(name)

    def control(
        self,
        name: str,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        degree: int | None = None,
        continuous: bool = False,
        guess: ArrayLike | None = None,
        unit: str = "",
    ) -> terms.Quantity:
        """Bound a control of the system, or add one to a robot, and return it as a term.

        degree : of its polynomial on every interval; 0 is constant; by default as many coefficients as
            there are collocation points, or 1 on other trajectories
        continuous : whether it is continuous from interval to interval
        The bounds hold for all t, as the control points are bounded. `node.rate(name)` is the derivative by
        time of a continuous one. Raises UnknownNameError, or OptionError for a basis that is finer than the
        nodes resolve.
        """
        known = controls_of(self.dynamics)
        return add_control(self, known, name, (lower, upper), guess, (degree, continuous), unit)

    def data(
        self,
        name: str,
        times: ArrayLike,
        values: ArrayLike,
        clock: Literal["seconds", "progress"] = "seconds",
        unit: str = "",
        interpolation: Interpolation = "cubic",
    ) -> terms.Quantity:
        """Add samples (k, width) at times (k,), joined by a curve, and return them as a term.

        clock : "seconds" reads them at `node.time`, "progress" at t / T in [0, 1]; beyond the ends of the
            times they are constant, and `solve` warns by how much (OutsideTableWarning)
        interpolation : a "cubic" spline, "linear", or "steps", each sample holding until the next. Where
            steps jump and lines bend, and that is known before the solve, a collocation mesh gets
            breakpoints: with "progress", or where start and duration are fixed; not where data are finer than
            the mesh.
        """
        input_checks.refuse_again(name, "data", self.datasets)
        own = arguments.unit(unit, f"'{name}'")
        with all_or_nothing(self):
            self.datasets[name] = data_of(name, times, values, clock, own, interpolation)
            self.trajectory = at_breakpoints(self, self.trajectory)
        return terms.Quantity(f"data:{name}")

    def recommend(self, solver: Solver, refine: Refinement | None = None, starts: int = 1) -> None:
        """Let `solve` use these unless others are given: `ConstraintGeneration()`, `LimitNodes()`, others.

        starts : how many look for a better optimum than the first finds, where it finds one; a `guess` given
            afterwards is the only start
        """
        check_solver(solver, "the recommended solver")
        check_refinement(refine, "the recommended refinement")
        arguments.check_count("the recommended number of starts", starts, 1, arguments.MOST_STARTS)
        self.solver, self.refinement, self.starts = solver, refine, int(starts)

    def at(self, over: Over) -> Instant:
        """The "start" or "end" of this motion, for links of `Phases`; or that of an arc, by `ArcNodes`."""
        return instant_of(self, over)

    # -- contacts and loops -------------------------------------------------------------------------------

    def contact(
        self,
        frame: str,
        arcs: Sequence[int],
        friction: float = 0.7,
        clearance: float = 0.0,
        *,
        sole: ArrayLike | None = None,
        ground: Surface | Mapping[int, Surface] = FLAT,
        held: str | Mapping[int, str] = WORLD,
        continuous: bool = False,
        impact: bool = False,
        obstacles: Sequence[Box] = (),
    ) -> Contact:
        """Let a frame stand on the ground in some arcs of the motion, and move above it in the others.

        arcs : in which it stands, `Schedule.arcs(foot)`; empty for a foot that never does
        friction : coefficient mu of the cone |f_t| <= mu f_n; its inner pyramid with four edges is used
        clearance : m, height above the ground half way through every arc in the air
        sole : (k, 3) m, points that stand, in axes of the frame, the origin where left out: one is a point
            foot, which may turn; points on a line an edge, which may roll about it; others hold the
            orientation of the frame, too
        ground : one surface, or one for every arc: a `Ground`, or a `Plane`, a wall, say, or a face of a
            `Box`; on the frame of another link it moves with that one, which feels the opposite force
        held : axes along which a point foot does not move, for all arcs or for each in which it stands: of
            the world, on a slope or a plane its tangents "x", "y" and its normal "z". Fewer where other
            contacts on the same link hold it already, heel "xyz", ball "yz", or where it may slide: along
            an axis that nothing holds there is no friction. Without the upward axis nothing else states
            that the point is on the ground
        continuous : whether its force is, also where arcs meet, and so zero where it touches down and lifts
            off; `Contact.force_rate` is then a term
        impact : whether it may land with velocity: where feet touch down, the velocities of the robot jump by
            M (v+ - v-) = J' p, with impulses p inside the pyramid at all feet that stand then, each of which
            needs impact=True; `Contact.impulse(arc)` is a term. Else it lands without an impact
        obstacles : boxes of which its points stay outside where it does not stand: the steps, a chair

        Where it touches down its height is zero, its velocity there, after the impact if it may have one, and
        at the collocation points of the arc; the force of the ground is inside the pyramid for all t.
        A foot that stands at the start is placed there alike. At the end do not fix q of all coordinates:
        feet that stand determine some of them already. Rows of its velocity that repeat those of contacts
        added before are not stated: `Contact.left_out` names them.
        Returns the contact, whose `force` is a term. Raises UnknownNameError for a frame that does not exist,
        OptionError or ShapeError for what cannot be meant.
        """
        others = (sole, ground, held, continuous, impact, obstacles)
        return contact_rows.add_contact(self, frame, arcs, friction, clearance, *others)

    def passive_base(self) -> None:
        """Let no motor drive the free base: the ground and gravity alone move it.

        Raises OptionError for a robot whose base is held.
        """
        contact_rows.free_base(self)

    def standing_pose(self, q: ArrayLike, arc: int = 0) -> Array:
        """The pose q (n,), its base raised or lowered until the feet that stand in an arc touch the ground.

        For `start_at`, `end_at` and `guess`: of a pose that is stated at the end, feet are on the ground to
        rounding or not at all, at the start within a millimetre or measured. Call it after the contacts are
        added. Raising the base is not enough where a hand touches a wall, or what moves, and where the
        heights of feet differ by up to a millimetre, as files round lengths: the pose is then one near it,
        within the limits of joints, at which all contacts of the arc touch.
        Raises InfeasibleBoundsError where the heights of these feet differ by more, with both that are
        furthest apart, or not all can touch; OptionError where none stands or the base is held, and
        ShapeError for q.
        """
        return contact_rows.standing_pose_of(self, q, arc)

    def wrap_rotation(self, link: str) -> tuple[int, ...]:
        """Let a link turn on where arcs meet: p goes on as p - 2 pi p / |p|, the same rotation; v fits.

        The link is one that a rotation vector p turns, a free base say, regular below 360 degrees from its
        centre. It is wrapped after arcs behind which the guess, which turns on without a jump, is then nearer
        the centre, and the guess is wrapped alike. Behind them q and what is stated of it are those of the
        wrapped p, and accelerations may jump where arcs meet. There |p| stays between 54 and 306 degrees, or
        as near to 180 as guessed, since p is singular at 360. Returns these arcs.
        Raises UnknownNameError, and OptionError without a guess or for one that turns too far in one arc.
        """
        return wrap_rotation(self, link)

    def subject_to_periodic_gait(
        self,
        forward: float,
        sideways: float = 0.0,
        *,
        mirror: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """Posture and velocity at the end are those of the start, `forward` and `sideways` (m) further on.

        mirror : signs and order of `RigidBodyModel.mirrored`, for half a period of a symmetric gait, after
            which left and right have changed places
        The place of the start is free along the ground: it is held at x = y = 0. So is where the robot heads
        without a mirror: its mean turn about the vertical is held at zero, forward is along x.
        Velocities do not jump between one period and the next: OptionError for a contact with impact=True
        that touches down there, and for a robot whose base is held.
        """
        contact_rows.make_gait_periodic(self, forward, sideways, mirror)

    def subject_to_repeated_contacts(
        self, feet: Mapping[str, str], reflection: ArrayLike = (1.0, 1.0, 1.0)
    ) -> None:
        """At its end a periodic motion has the contacts of its start, with feet that change places.

        feet : frame -> the one whose place it takes, both ways where they swap: {"left": "right", ...}
        reflection : signs of forces (3,), world axes, seen in the mirror
        A foot that stands at the start where its partner does at the end does not touch down there: that
        follows from periodicity. A continuous force at the start is the partner's at the end, reflected, and
        zero where the partner does not stand. Periodicity of q and v is stated beside.
        Raises UnknownNameError for a frame without a contact, OptionError for a reflection of other signs.
        """
        contact_rows.repeat_contacts(self, feet, reflection)

    def close_loop(
        self,
        frame_a: str,
        frame_b: str,
        kind: ClosureKind = "point",
        *,
        axis: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        near: ArrayLike | None = None,
        arcs: Sequence[int] | None = None,
        tolerance: float = 1e-6,
        name: str | None = None,
    ) -> Closure:
        """Hold two frames together, a loop that the tree of the robot's joints leaves open.

        frame_a, frame_b : on two links; one of them may be fixed to the ground
        kind : "point", the origins coincide, as in a ball joint; "pin", the frames turn about one axis only,
            as in a hinge; "weld", they do not turn, as in a grasp
        axis : (3,) of the pin, in axes of frame a
        rotation : (3, 3), axes of frame b in those of a when the loop is closed; left out, the same axes
        near : (n,) joint positions from which a closed pose is searched; left out, where the motion starts
        arcs : in which it is closed, all by default
        tolerance : m and rad, the largest gap that counts as closed, for what rounding in a robot's file
            leaves; between nodes `verify` passes it, and `solve` halves intervals where it is exceeded
        name : in reports, "frame_a-frame_b" by default

        The velocity of the gap vanishes at all collocation points, the gap where the first arc starts. Force
        and moment are unknown curves, and act on both links with opposite signs; in world axes they are the
        terms `force` and `moment` of the result. Rows that repeat others, as those across the plane of a
        planar linkage, are left out with their forces, which no motion determines: `left_out` names them.
        Boundary values of joints that follow from others are released, with a LoopWarning that names those
        that move; at the end a loop is closed to the order of the scheme.
        Raises the dynamics' error for a frame that does not exist, InfeasibleBoundsError with the least gap
        for a loop that cannot close, ProblemError for a pose at which it is singular, OptionError or
        ShapeError for other arguments that fit no loop, with what to give.
        """
        frames, kinds = (frame_a, frame_b), (kind, axis, rotation)
        return closure_rows.add_closure(self, frames, kinds, near, arcs, tolerance, name)

    def closed_pose(self, q: ArrayLike, *held: str) -> Array:
        """The closed pose (n,) of all loops nearest a given one, the named joints held.

        Raises InfeasibleBoundsError, with the least gap, where there is none.
        """
        return closure_rows.closed_pose(self, q, *held)

    def _boundary(self, place: Literal["start", "end"], **given: Values) -> None:
        with all_or_nothing(self):
            for term, lower, upper, name in bounds.boundary_values(self.dynamics, place, given):
                self.subject_to(term, lower, upper, over=place, name=name)
            loop_poses.release_ends(self)

    # -- doors to rooms above ---------------------------------------------------------------------------

    def summary(self) -> ProblemSummary:
        """All costs, constraints and unknowns, and how large the program is, before it is solved; print it.

        Raises ProblemError or a subclass where the problem contradicts itself.
        """
        from trajopt.display.facts import ProblemSummary

        return ProblemSummary.of(self)

    def __repr__(self) -> str:
        from trajopt.display.facts import problem_facts

        return str(problem_facts(self))

    def _repr_html_(self) -> str:
        from trajopt.display.facts import problem_facts

        return problem_facts(self).html()
