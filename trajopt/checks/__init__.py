"""Every bounded component of every cost and constraint, evaluated on a motion."""
