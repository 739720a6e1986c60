"""Tests of broker/connections."""
