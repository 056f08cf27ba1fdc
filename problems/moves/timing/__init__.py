"""Motions along given paths, and their timing under limits of jerk."""
