"""Optimal control problems by kind: textbook classics, flight, and mechanisms with joints and drives."""

from types import MappingProxyType

from trajopt.former_paths import install_former_paths

FORMER = MappingProxyType(
    {
        f"problems.gallery.{name}": (f"problems.gallery.{home}.{name}",)
        for home, names in {
            "classics": (
                "brachistochrone",
                "bryson_denham",
                "energy_budget",
                "hypersensitive",
                "minimum_fuel",
                "van_der_pol",
            ),
            "flight": (
                "goddard_in_phases",
                "goddard_rocket",
                "orbit_transfer",
                "quadrotor_gates",
                "space_shuttle",
            ),
            "mechanisms": (
                "acrobot",
                "arm_design",
                "arm_energy_budget",
                "container_crane",
                "double_pendulum_cart",
                "five_link_walker",
                "gear_ratio",
                "line_in_least_time",
                "motor_arm",
            ),
        }.items()
        for name in names
    }
)
install_former_paths(FORMER)
