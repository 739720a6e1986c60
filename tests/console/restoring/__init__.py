"""Tests of console/restoring."""
