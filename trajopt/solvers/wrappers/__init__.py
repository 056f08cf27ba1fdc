"""Solvers made of another solver: checkpoints on disk, rows in rounds, Newton's steps before it."""
