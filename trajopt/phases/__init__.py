"""Phases: problems with dynamics, meshes and costs of their own, solved as one with links between them."""
