"""Certificates and reports against planted violations: `python -m benchmarks.planted_violations`."""
