"""Requests that belong together, theme by theme: each module has `steps(world)`; sequences.py names them."""
