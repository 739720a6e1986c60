"""Calls and what they wait for: timers, slices of long work; and counters."""
