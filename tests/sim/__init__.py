"""Whole-broker simulation on an injected clock and disk."""
