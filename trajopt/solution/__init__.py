"""The solution as values: motion, multipliers, status and records; and the one solve that it comes from."""
