"""Optimal control problems: costs, constraints, unknowns and first guesses, checked as they are added."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
