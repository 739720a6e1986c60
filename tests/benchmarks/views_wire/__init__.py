"""Tests of the parts of bench_views_wire."""
