"""Tests of broker/loop."""
