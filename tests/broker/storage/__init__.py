"""Tests of broker/storage."""
