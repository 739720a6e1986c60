"""Tests of broker/coordinators."""
