"""Shares of solves that end as they should: `python -m benchmarks.robustness` writes docs/robustness.md."""
