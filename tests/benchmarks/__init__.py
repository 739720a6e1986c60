"""Tests of the reading and counting that the benchmarks do themselves."""
