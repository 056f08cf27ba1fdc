"""A gait as an optimization problem: steps, ground reactions, costs, constraints, initial guesses."""
