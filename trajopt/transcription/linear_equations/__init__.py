"""Equations that are linear in the unknowns or constant: found, checked and eliminated before the solve."""
