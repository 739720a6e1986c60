"""Rigs that break a real gateway under stock clients, and the checker of what those clients saw."""
