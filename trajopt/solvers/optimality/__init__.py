"""Optimality of a point: residuals, multipliers, violations and the status that they give."""
