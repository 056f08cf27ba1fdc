"""Moves of a robot that are asked for in words: its goals, what its tool does, what it carries."""
