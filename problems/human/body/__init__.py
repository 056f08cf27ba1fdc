"""The human skeleton for a height and a mass, and what a person carries."""
