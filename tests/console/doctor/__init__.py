"""Tests of `kawal doctor`, on machines made up for them."""
