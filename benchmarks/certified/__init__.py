"""Certified optima of the library's problems: `python -m benchmarks.certified`."""
