"""Tests of the package `kawal`."""
