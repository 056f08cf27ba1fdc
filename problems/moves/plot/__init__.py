"""Figures of motions: how far a simulation leaves the plan."""
