"""Unit tests: no sleeps, no ports, no wall clock."""
