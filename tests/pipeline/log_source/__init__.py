"""Tests of Spark's format `kawal.wal`."""
