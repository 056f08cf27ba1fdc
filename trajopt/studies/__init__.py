"""Many solves: lists and sweeps of problems, multiple starts, Pareto fronts; and inverse kinematics."""
