"""Tests of broker/upkeep."""
