"""Tests of broker/catalogue."""
