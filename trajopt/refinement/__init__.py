"""Refinement of solutions: knot insertion, nodes where limits are exceeded, coarse meshes, several starts."""
