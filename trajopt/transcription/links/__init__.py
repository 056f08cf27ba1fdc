"""Transcription of linked problems to one nonlinear program and back."""
