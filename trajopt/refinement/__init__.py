"""Refinement of solutions: knot insertion, limits that hold between nodes, and exact switching structures."""
