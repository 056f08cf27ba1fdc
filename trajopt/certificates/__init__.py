"""Certificates: which limits hold for all times, how far from the optimum, and how that is known."""
