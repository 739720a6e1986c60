"""Tests of what the benchmarks read and count by themselves."""
