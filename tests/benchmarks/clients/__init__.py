"""Tests of the loads."""
