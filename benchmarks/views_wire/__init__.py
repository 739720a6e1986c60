"""The parts of `python -m benchmarks.bench_views_wire`, one file each."""
