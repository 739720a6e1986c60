"""Tests of broker/fetching."""
