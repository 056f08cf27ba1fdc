"""Certified optima: limits held between nodes, switching structures confirmed, objectives bracketed."""
