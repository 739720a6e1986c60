"""The load generators, each run in its own process: `python -m benchmarks.clients KIND JSON`."""
