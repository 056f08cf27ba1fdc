"""Whether a point is optimal: residuals, multipliers, violations and the status that they give."""
