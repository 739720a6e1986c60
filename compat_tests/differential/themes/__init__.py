"""Requests that belong together, theme by theme: each module has `steps(world)`.

`SEQUENCES` names them all, with the wild ones of every API.
"""
