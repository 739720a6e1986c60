"""Tests of broker/config."""
