"""Costs of solves: stages of one, solving again, the dense method, libraries of IPOPT, fine meshes."""
