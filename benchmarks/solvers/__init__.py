"""Costs of solves: stages of one, solving again, interior points, libraries of IPOPT, fine meshes."""
