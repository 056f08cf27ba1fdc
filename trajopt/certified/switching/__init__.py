"""Switching structures of optima: detected on a spline, solved on one arc per interval, corrected."""
