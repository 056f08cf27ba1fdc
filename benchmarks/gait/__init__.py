"""Human walking, timed and varied: `python -m benchmarks.gait`."""
