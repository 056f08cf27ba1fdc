"""Barman's thesis: the recursive Newton-Euler equations in moving coordinates, and their sensitivities."""
