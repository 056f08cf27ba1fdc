"""Transcription of a problem to a sparse nonlinear program, and of its unknowns back to curves."""
