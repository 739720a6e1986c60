"""Tests of broker/requests."""
