"""Tests of the rigs' parts that need no server: the checker, the ledger, the proxy."""
