"""The comparison suite: `python -m benchmarks.run`. See README.md."""
