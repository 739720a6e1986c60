"""Tests of `kawal doctor` on invented machines."""
