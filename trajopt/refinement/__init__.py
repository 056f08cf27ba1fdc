"""Refinement of solutions: knot insertion, limits that hold between nodes, and exact switching structures."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
