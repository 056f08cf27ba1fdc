"""Muscles beside those of other programs."""
