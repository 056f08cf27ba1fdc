"""Kernels of paths over surfaces: where a straight part touches a cylinder, sphere, ellipsoid or torus."""
