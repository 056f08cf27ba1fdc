"""Robots on legs: feet that stand, swing and land."""
