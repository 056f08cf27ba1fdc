"""From a problem to a sparse nonlinear program, and from its unknowns back to curves."""
