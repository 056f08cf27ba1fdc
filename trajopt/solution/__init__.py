"""The answer as values: the motion, its multipliers, its certificate, its file."""
