"""Group coordination as a pure machine."""
