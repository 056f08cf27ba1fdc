"""Optimality of an answer, recomputed: residuals, minimality, costs, dependent and infeasible equations."""
