"""Optimal control problems: costs, constraints, unknowns and first guesses, checked as they are added."""
