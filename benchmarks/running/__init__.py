"""Runs beside people: `python -m benchmarks.running`."""
