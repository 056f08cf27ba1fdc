"""Solvers made of another solver: checkpoints on disk, rows added in rounds, the least violation of rows."""
