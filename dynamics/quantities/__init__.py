"""Quantities of a state (q, v): frame poses and velocities, momentum, energies, springs, friction."""
