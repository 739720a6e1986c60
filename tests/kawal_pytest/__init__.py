"""Tests of the pytest plugin, without a host or with one that only repeats its commands."""
