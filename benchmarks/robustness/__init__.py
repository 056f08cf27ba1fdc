"""How often a solve ends where it should: `python -m benchmarks.robustness` writes docs/robustness.md."""
