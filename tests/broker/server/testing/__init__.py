"""Tests of the brokers in memory, whose sockets are pairs here."""
