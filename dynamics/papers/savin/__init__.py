"""Savin's lecture: the Lagrangian equations, symbolically."""
