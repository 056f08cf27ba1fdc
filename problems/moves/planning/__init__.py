"""Paths of the joints past obstacles, from which motions begin."""
