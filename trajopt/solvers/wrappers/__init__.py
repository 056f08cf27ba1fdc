"""Solvers made of another solver: with checkpoints on disk, or with the rows of a program in rounds."""
