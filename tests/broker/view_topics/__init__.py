"""Tests of broker/view_topics."""
