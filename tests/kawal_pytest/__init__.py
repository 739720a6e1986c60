"""Tests of the pytest plugin, without a host or with one that only repeats what it is told."""
