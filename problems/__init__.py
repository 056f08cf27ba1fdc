"""Complete problems, each a module with `build(**parameters)`, and the command line that solves them.

The only package that knows both `dynamics` and `trajopt`. To write a problem, copy `pendulum_swing_up.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from problems.name_conflicts import refuse_another_trajopt

refuse_another_trajopt()  # trajopt itself refuses others of the name dynamics or problems
import_module("trajopt")

if TYPE_CHECKING:
    from problems import betts_robot_arm as betts_robot_arm
    from problems import cart_pole as cart_pole
    from problems import double_integrator as double_integrator
    from problems import gait as gait
    from problems import gait_stride as gait_stride
    from problems import hop as hop
    from problems import kirk as kirk
    from problems import minimum_acceleration as minimum_acceleration
    from problems import pendulum_swing_up as pendulum_swing_up
    from problems import planar_walker as planar_walker
    from problems import six_axis_arm as six_axis_arm
    from problems import sliding_mass as sliding_mass
    from problems import three_link_arm as three_link_arm
    from problems import two_link_pr as two_link_pr
    from problems import two_link_rr as two_link_rr
    from problems import urdf_arm as urdf_arm
    from problems.gallery.classics import brachistochrone as brachistochrone
    from problems.gallery.classics import bryson_denham as bryson_denham
    from problems.gallery.classics import energy_budget as energy_budget
    from problems.gallery.classics import hypersensitive as hypersensitive
    from problems.gallery.classics import minimum_fuel as minimum_fuel
    from problems.gallery.classics import van_der_pol as van_der_pol
    from problems.gallery.flight import goddard_in_phases as goddard_in_phases
    from problems.gallery.flight import goddard_rocket as goddard_rocket
    from problems.gallery.flight import orbit_transfer as orbit_transfer
    from problems.gallery.flight import quadrotor_gates as quadrotor_gates
    from problems.gallery.flight import space_shuttle as space_shuttle
    from problems.gallery.human import countermovement_jump as countermovement_jump
    from problems.gallery.human import lift_box as lift_box
    from problems.gallery.human import running as running
    from problems.gallery.human import sit_to_stand as sit_to_stand
    from problems.gallery.legged import biped_step as biped_step
    from problems.gallery.legged import one_legged_hopper as one_legged_hopper
    from problems.gallery.legged import quadruped_bound as quadruped_bound
    from problems.gallery.legged import quadruped_gap as quadruped_gap
    from problems.gallery.legged import quadruped_jump as quadruped_jump
    from problems.gallery.legged import quadruped_trot as quadruped_trot
    from problems.gallery.mechanisms import acrobot as acrobot
    from problems.gallery.mechanisms import arm_design as arm_design
    from problems.gallery.mechanisms import arm_energy_budget as arm_energy_budget
    from problems.gallery.mechanisms import container_crane as container_crane
    from problems.gallery.mechanisms import double_pendulum_cart as double_pendulum_cart
    from problems.gallery.mechanisms import five_link_walker as five_link_walker
    from problems.gallery.mechanisms import four_bar as four_bar
    from problems.gallery.mechanisms import gear_ratio as gear_ratio
    from problems.gallery.mechanisms import line_in_least_time as line_in_least_time
    from problems.gallery.mechanisms import motor_arm as motor_arm
    from problems.gallery.mechanisms import two_arms as two_arms
else:  # type checkers would take any name for a problem if they saw these

    def __getattr__(name: str) -> Any:
        """`problems.two_link_rr`, imported on first use, and `__all__`, the names of all problems."""
        from problems.catalogue import module, names

        if name == "__all__":
            return list(names())
        if name in names():
            return module(name)
        from trajopt.base.errors import near_matches

        known = near_matches(name, names()) or f": there are {', '.join(names())}"
        raise AttributeError(f"module 'problems' has no problem {name!r}{known}")

    def __dir__() -> list[str]:
        from problems.catalogue import names

        return sorted([*names(), *(name for name in globals() if name.startswith("__"))])
