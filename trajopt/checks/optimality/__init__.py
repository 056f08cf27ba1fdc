"""Costs of a solution recomputed, and equations that depend on each other or cannot all be met."""
