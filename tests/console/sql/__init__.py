"""Tests of the statements of `kawal sql`."""
