"""Safeea, Neto and Bearee: Christoffel symbols of serial chains, their operations, and the form of a path."""
