"""Every published number of the papers beside ours: `python -m benchmarks.papers` writes docs/papers.md."""
