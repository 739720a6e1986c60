"""Tests of brokers in memory, with socket pairs as their sockets."""
