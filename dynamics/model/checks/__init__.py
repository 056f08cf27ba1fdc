"""Checks of the numbers, the tree and the masses of a robot."""
