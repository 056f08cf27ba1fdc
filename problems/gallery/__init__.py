"""Optimal control problems as textbooks state them, most of them first-order systems, x' = f(x, u)."""
