"""Many solves: multiple starts, Pareto fronts, inverse kinematics."""
